//! The beginning of a connection: the log-in and the choice of the database.

use super::Pipe;
use super::commands::Commands;
use super::trouble::checked;
use crate::Secret;
use crate::call::CallError;
use crate::net::{Endpoint, ShardContext};
use crate::op::Failure;
use crate::pipe::{self, Answers, Waiting};
use std::rc::Rc;

/// The user who logs in, and the database.
#[derive(Clone, Debug, Default)]
pub(super) struct LogInto {
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
    /// The number of the database.
    pub(super) number: u32,
    pub(super) resp3: bool,
}

impl LogInto {
    /// The commands sent before any others.
    fn commands(&self) -> Commands {
        let mut commands = Commands::default();
        let user = self.user.as_deref();
        match (self.resp3, self.password.as_ref().map(Secret::reveal)) {
            (true, Some(password)) => {
                commands.add(&["HELLO", "3", "AUTH", user.unwrap_or("default"), password]);
            }
            (true, None) => commands.add(&["HELLO", "3"]),
            (false, Some(password)) => match user {
                Some(user) => commands.add(&["AUTH", user, password]),
                None => commands.add(&["AUTH", password]),
            },
            (false, None) => {}
        }
        if self.number > 0 {
            commands.add(&["SELECT", &self.number.to_string()]);
        }
        commands
    }

    /// Connects and logs in. After `failed` attempts it starts with a different address.
    pub(super) async fn connect(
        &self,
        endpoint: &Endpoint,
        failed: u32,
        shared: bool,
        context: &ShardContext,
    ) -> Result<Rc<Pipe>, CallError> {
        let stream = pipe::connect(endpoint, failed, context).await?;
        let pipe = Rc::new(Pipe::new(stream, shared, context, endpoint.max_answer));
        let mut commands = self.commands();
        let logs_in = commands.len() > 0;
        if !logs_in {
            // A server that has too many clients says so unasked, and closes the connection: the
            // first operation would be left without an answer.
            commands.add(&["PING"]);
        }
        let password = self.password.as_ref().map_or("", Secret::reveal);
        for answer in ask(&pipe, &commands).await?.iter() {
            if let Err(trouble) = checked(answer)
                && (logs_in || !is_about_commands(&trouble))
            {
                return Err(trouble.without(password));
            }
        }
        Ok(pipe)
    }
}

/// Whether a server refuses a `PING` as it does other commands, but not the connection.
fn is_about_commands(trouble: &CallError) -> bool {
    let code = trouble.reason.split(' ').next();
    trouble.failure == Failure::NotReady || matches!(code, Some("BUSY" | "MISCONF"))
}

/// The answers to commands that are not part of the load.
pub(super) async fn ask(pipe: &Rc<Pipe>, commands: &Commands) -> Result<Answers, CallError> {
    let (waiting, mut answers) = (Rc::<Waiting>::default(), Answers::default());
    pipe.send(commands.bytes(), commands.len() as u32, &waiting).await?;
    waiting.swap(&mut answers);
    Ok(answers)
}

/// The answer to a command that is not part of the load.
pub(super) async fn asked(pipe: &Rc<Pipe>, words: &[&str]) -> Result<Vec<u8>, CallError> {
    let mut commands = Commands::default();
    commands.add(words);
    let answer = ask(pipe, &commands).await?.get(0)?.to_vec();
    checked(&answer)?;
    Ok(answer)
}
