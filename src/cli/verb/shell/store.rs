//! Opens the tables of the shell, with any driver. Prints nothing.

use super::Shell;
use super::command::ShellCommand;
use super::own::Defined;
use super::task::{Answer, Task};
use crate::cli::exit::Trouble;
use crate::cli::flags::schema_source::TIMEOUT_NS;
use crate::cli::verb::run::Run;
use crate::cli::verb::scenario;
use crate::driver::{
    Auth, Card, Driver, Existing, ONLY_TABLE, Opening, TargetAsked, TargetPlan, with_scheme,
};
use crate::op::Failure;
use crate::plan::Invalid;
use crate::report::ycsb::return_code;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Runtime;
use url::Url;

/// The tables of one server.
pub(super) struct Store {
    asked: TargetAsked,
    card: Card,
    opening: Opening,
    /// Lines from a driver that shows operations instead of carrying them out.
    shown: Arc<Mutex<Vec<u8>>>,
    runtime: Runtime,
    table: Option<Table>,
    own: Defined,
}

struct Table {
    name: String,
    plan: TargetPlan,
    driver: Driver,
}

impl Store {
    /// Connects to the server that `args` names. Also returns the name of the first table.
    ///
    /// # Errors
    /// Fails if the address is wrong, or the server cannot be used.
    pub(super) fn open(args: &Shell) -> Result<(Self, String), Trouble> {
        let address = args.target.as_deref().unwrap_or_default();
        let url = Url::parse(&with_scheme(address)).ok();
        // Over HTTP, the query describes how to create a database.
        let makes = |url: &Url| matches!(url.scheme(), "http" | "https") && url.query().is_some();
        if url.as_ref().is_some_and(makes) {
            let cure = "give http://[user:password@]host:port[/database], or basic";
            return Err(Invalid::new("TARGET", "a query has no effect here", cure).into());
        }
        let user = url.is_some_and(|url| !url.username().is_empty());
        let asked = TargetAsked {
            headers: args.credentials.with_token(Some(address), Vec::new())?,
            existing: Existing::Maybe,
            keep: true,
            // A session cookie would expire between commands.
            auth: if user { Auth::Basic } else { Auth::Cookie },
            tls: args.tls.options(),
            options: args.options.clone(),
            ..TargetAsked::at(address)
        };
        let own = defined(args)?;
        let plan = TargetPlan::check(&asked)?;
        for operation in own.operations.iter().filter(|it| !it.is_sequence()) {
            plan.spell(operation)?;
        }
        let (card, named) = (plan.card(), plan.named_database().map(str::to_owned));
        let table = args.table.clone().or(named).unwrap_or_else(|| ONLY_TABLE.to_owned());
        let shown = Arc::<Mutex<Vec<u8>>>::default();
        let opening = Opening {
            operations: own.operations.clone(),
            timeout_ns: args.timeout_ns.unwrap_or(TIMEOUT_NS),
            max_answer: crate::plan::MAX_ANSWER,
            echo: Some(Arc::new({
                let shown = shown.clone();
                move |line| {
                    let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                    shown.extend_from_slice(line);
                    shown.push(b'\n');
                }
            })),
            ..Opening::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut store = Self { asked, card, opening, shown, runtime, table: None, own };
        store.turn_to(&table, false)?;
        Ok((store, table))
    }

    /// Carries out a command on records of `table`. Lines shown by `basic` go to `out`.
    ///
    /// # Errors
    /// Fails if the server does not respond, or the driver does not support the operation.
    pub(super) fn execute(
        &mut self,
        table: &str,
        command: &ShellCommand,
        out: &mut String,
    ) -> Result<Answer, Trouble> {
        let mut answer = self.carry_out(table, command);
        let missing =
            matches!(&answer, Ok(answer) if answer.code == return_code(Failure::NotFound));
        if missing && matches!(command, ShellCommand::Insert { .. }) {
            // The first insert creates the table.
            self.turn_to(table, true)?;
            answer = self.carry_out(table, command);
        }
        let shown = std::mem::take(&mut *self.shown.lock().unwrap_or_else(PoisonError::into_inner));
        out.push_str(&String::from_utf8_lossy(&shown));
        answer
    }

    /// Carries out an operation of the plan with these values. Returns whether it succeeded.
    ///
    /// # Errors
    /// Fails if there is no such operation, or a value is not known.
    pub(super) fn carry_out_own(
        &mut self,
        table: &str,
        operation: &str,
        values: &[(String, String)],
        out: &mut String,
    ) -> Result<bool, Trouble> {
        self.turn_if_needed(table)?;
        let Some(Table { plan, driver, .. }) = &self.table else { return Ok(false) };
        self.own.carry_out(operation, values, plan, driver, &self.runtime, out)
    }

    /// Opens a table that is not open.
    fn turn_if_needed(&mut self, table: &str) -> Result<(), Trouble> {
        if self.table.as_ref().is_none_or(|it| it.name != table) {
            self.turn_to(table, false)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, table: &str, command: &ShellCommand) -> Result<Answer, Trouble> {
        self.turn_if_needed(table)?;
        let Some(Table { name, plan, driver }) = &self.table else { return Ok(Answer::default()) };
        let (runtime, address) = (&self.runtime, plan.address().unwrap_or_default());
        let timeout_ns = self.opening.timeout_ns;
        match command.kind().and_then(|kind| plan.card().refusal("TARGET", |it| it == kind)) {
            Some(refusal) => Err(refusal.into()),
            None => driver.apply(Task { runtime, address, table: name, command, timeout_ns }),
        }
    }

    /// Opens a table; if `making`, creates it if it is missing.
    fn turn_to(&mut self, table: &str, making: bool) -> Result<(), Trouble> {
        let mut asked = self.asked.clone();
        if self.card.takes_table(table) {
            asked.database = Some(table.to_owned());
        }
        let plan = TargetPlan::check(&asked)?;
        let opening = Opening { as_it_is: !making, ..self.opening.clone() };
        let (driver, _) = self.runtime.block_on(plan.open(&opening))?;
        self.table = Some(Table { name: table.to_owned(), plan, driver });
        Ok(())
    }
}

/// The definitions in the plan and on the command line.
fn defined(args: &Shell) -> Result<Defined, Trouble> {
    let (mut operations, mut lists) = (Vec::new(), Vec::new());
    if let Some(file) = &args.plan {
        [operations, lists] = scenario::definitions(&Run::grammar(), file)?;
    }
    operations.extend(args.op.iter().cloned());
    lists.extend(args.data.iter().cloned());
    Ok(Defined::read(&operations, &lists)?)
}
