//! A server, or a node of a cluster, as the sessions that share a connection to it see it.

use super::answers::Answers;
use super::commands::Commands;
use super::pipe::{Pipe, Waiting};
use super::trouble::{checked, of_connect};
use crate::Secret;
use crate::call::CallError;
use crate::clock::Nanos;
use crate::net::{Endpoint, ShardContext, Stream, rest_after};
use crate::op::Failure;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// Who logs in, and where.
#[derive(Clone, Debug, Default)]
pub(super) struct LogInto {
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
    /// The number of the database.
    pub(super) number: u32,
    /// Whether RESP 3 is spoken.
    pub(super) resp3: bool,
}

impl LogInto {
    /// What is sent before anything else.
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
        let noting = context.timestamps().is_some();
        let stream = Stream::connect(endpoint, failed, noting).await;
        let stream = stream.map_err(|error| of_connect(&error))?;
        let pipe = Rc::new(Pipe::new(stream, shared, context, endpoint.max_answer));
        let commands = self.commands();
        if commands.len() > 0 {
            for answer in ask(&pipe, &commands).await?.iter() {
                checked(answer).map_err(|trouble| self.struck(trouble))?;
            }
        }
        Ok(pipe)
    }

    /// The words of a server that repeats what it was sent, without the password.
    fn struck(&self, trouble: CallError) -> CallError {
        let password = self.password.as_ref().map(Secret::reveal).filter(|it| !it.is_empty());
        let Some(password) = password else { return trouble };
        CallError { reason: trouble.reason.replace(password, "***"), ..trouble }
    }
}

/// The answers to commands that are not part of the load.
pub(super) async fn ask(pipe: &Rc<Pipe>, commands: &Commands) -> Result<Answers, CallError> {
    let (waiting, mut answers) = (Rc::<Waiting>::default(), Answers::default());
    pipe.send(commands.bytes(), commands.len() as u32, &waiting).await?;
    waiting.swap(&mut answers);
    Ok(answers)
}

/// A node, and the connection to it.
#[derive(Debug)]
pub(super) struct Seat {
    endpoint: Arc<Endpoint>,
    pipe: RefCell<Option<Rc<Pipe>>>,
    /// Held by the one who connects.
    gate: Mutex<()>,
    /// Attempts to connect, and how many of the last ones failed.
    attempts: Cell<u64>,
    failed: Cell<u32>,
    /// When the next one may begin.
    not_before: Cell<Nanos>,
    /// When the last one began.
    began: Cell<Nanos>,
    refusal: RefCell<Option<CallError>>,
    /// How often the server said something that was not asked for.
    unsolicited: Cell<u64>,
}

impl Seat {
    pub(super) fn new(endpoint: Arc<Endpoint>) -> Self {
        Self {
            endpoint,
            pipe: RefCell::default(),
            gate: Mutex::default(),
            attempts: Cell::default(),
            failed: Cell::default(),
            not_before: Cell::default(),
            began: Cell::default(),
            refusal: RefCell::default(),
            unsolicited: Cell::default(),
        }
    }

    /// The connection, if there is one on which commands can be sent.
    pub(super) fn pipe(&self) -> Option<Rc<Pipe>> {
        let pipe = self.pipe.borrow();
        let pipe = pipe.as_ref()?;
        self.unsolicited.set(self.unsolicited.get() + u64::from(pipe.look()));
        pipe.is_usable().then(|| pipe.clone())
    }

    /// How often the server said something that was not asked for, since the last call.
    pub(super) fn take_unsolicited(&self) -> u64 {
        self.unsolicited.take()
    }

    /// Waits for as long as earlier failures to connect call for.
    pub(super) async fn pause(&self, context: &ShardContext) {
        let left = self.not_before.get().saturating_sub(context.clock().now());
        if left > 0 && self.has_failed() {
            tokio::time::sleep(Duration::from_nanos(left)).await;
        }
    }

    /// Connects if there is no connection. Those who come while somebody else does so share the
    /// result. Returns when that began.
    pub(super) async fn open(
        &self,
        log_into: &LogInto,
        shared: bool,
        context: &ShardContext,
    ) -> Nanos {
        let (came, attempts) = (context.clock().now(), self.attempts.get());
        let _gate = self.gate.lock().await;
        if self.attempts.get() != attempts || self.pipe().is_some() {
            return self.began.get().max(came);
        }
        let failed = self.failed.get();
        self.began.set(context.clock().now());
        self.attempts.set(attempts + 1);
        // If this is given up for lack of time, it has failed.
        self.failed.set(failed.saturating_add(1));
        self.rest(context);
        *self.refusal.borrow_mut() = Some(CallError::new(Failure::Connect, "no answer in time"));
        match log_into.connect(&self.endpoint, failed, shared, context).await {
            Ok(pipe) => {
                *self.pipe.borrow_mut() = Some(pipe);
                *self.refusal.borrow_mut() = None;
                self.failed.set(0);
            }
            Err(trouble) => {
                *self.refusal.borrow_mut() = Some(trouble);
                self.rest(context);
            }
        }
        self.began.get()
    }

    /// No attempt is made before the pause after the last one is over.
    fn rest(&self, context: &ShardContext) {
        let pause_ns = rest_after(self.failed.get()).as_nanos() as Nanos;
        self.not_before.set(context.clock().now() + pause_ns);
    }

    /// Whether the last attempt to connect failed.
    pub(super) const fn has_failed(&self) -> bool {
        self.failed.get() > 0
    }

    /// Why there is no connection. Refused credentials end a run, so they are reported as such.
    pub(super) fn refusal(&self) -> CallError {
        let refusal = self.refusal.borrow().clone().unwrap_or(Failure::Connect.into());
        match refusal.failure {
            Failure::Authentication => refusal,
            failure if failure.unconnected() => refusal,
            _ => CallError { failure: Failure::Connect, ..refusal },
        }
    }
}
