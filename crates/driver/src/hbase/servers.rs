//! The connections of one thread: a few to each server, opened on first use.

use super::connection::{Connection, ConnectionSettings, Lost};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tokio::sync::Mutex;

/// The service of region servers.
pub(super) const CLIENT: &str = "ClientService";
/// The service of servers that know where others are.
pub(super) const REGISTRY: &str = "ClientMetaService";
/// The service with which region servers report on themselves.
pub(super) const ADMIN: &str = "AdminService";
/// The service of the master.
pub(super) const MASTER: &str = "MasterService";

/// The place for one connection. The session that holds the lock connects; others wait.
type ConnectionSlot = Rc<(RefCell<Option<Rc<Connection>>>, Mutex<()>)>;

#[derive(Debug)]
pub(super) struct RegionServers {
    pub(super) settings: ConnectionSettings,
    /// By address and number.
    seats: RefCell<HashMap<(Rc<str>, u32), ConnectionSlot>>,
}

impl RegionServers {
    pub(super) fn new(settings: ConnectionSettings) -> Self {
        Self { settings, seats: RefCell::default() }
    }

    /// The connection with this number to `host:port`.
    pub(super) async fn connection(
        &self,
        address: &Rc<str>,
        number: u32,
    ) -> Result<Rc<Connection>, Lost> {
        let seat = self.seats.borrow_mut().entry((address.clone(), number)).or_default().clone();
        let usable = || seat.0.borrow().clone().filter(|connection| connection.is_usable());
        if let Some(connection) = usable() {
            return Ok(connection);
        }
        let _alone = seat.1.lock().await;
        if let Some(connection) = usable() {
            return Ok(connection);
        }
        seat.0.take();
        let connection = Rc::new(Connection::open(address, CLIENT, &self.settings).await?);
        *seat.0.borrow_mut() = Some(connection.clone());
        Ok(connection)
    }

    /// The same if it already exists: returns without waiting.
    pub(super) fn open_connection(&self, address: &Rc<str>, number: u32) -> Option<Rc<Connection>> {
        let seats = self.seats.borrow();
        let seat = seats.get(&(address.clone(), number))?;
        seat.0.borrow().clone().filter(|connection| connection.is_usable())
    }
}
