//! The facts about a planned CouchDB database, and the requests to its servers before and after a
//! run.

use super::making::Making;
use super::plan::{CouchPlan, NodePlan};
use crate::measure::Copies;
use crate::mistake::Invalid;
use crate::op::Way;
use crate::plan::is_named;
use crate::secrets::LeftOut;
use crate::words::OperationPlan;
use crate::{
    Auth, CompactionPlan, DatabasePlan, Databases, Local, LogIn, Opening, Planned, Scratch, Spread,
    TargetError, TargetPlan,
};
use url::Url;

impl Planned for CouchPlan {
    fn address(&self) -> Option<String> {
        let first = self.server.as_deref()?;
        let others = self.nodes.iter().map(|node| node.server.as_str());
        Some(std::iter::once(first).chain(others).collect::<Vec<_>>().join(","))
    }

    fn nodes(&self) -> Vec<String> {
        let several = !self.nodes.is_empty();
        let all = self.all(None).into_iter().map(|node| node.server);
        all.filter(|_| several).collect()
    }

    fn is_stand_in(&self) -> bool {
        self.server.is_none()
    }

    fn scratches<'a>(
        &'a self,
        opening: &'a Opening,
    ) -> Local<'a, Result<Option<Vec<Scratch>>, TargetError>> {
        Box::pin(async { self.list_scratches(opening).await.map(Some) })
    }

    fn remove_scratches<'a>(
        &'a self,
        opening: &'a Opening,
        scratches: &'a [Scratch],
    ) -> Local<'a, Result<(), TargetError>> {
        Box::pin(self.drop_scratches(opening, scratches))
    }

    fn databases(&self) -> Option<Databases> {
        let own_names = self.database.name().is_none();
        let (made, removed) = (self.database.must_be_new(), self.database.is_removed());
        self.databases.map(|spread| Databases { spread, made, removed, own_names })
    }

    fn spell(&self, operation: &OperationPlan) -> Result<Vec<String>, Invalid> {
        Ok(super::words::spell(operation)?.holes.0)
    }

    fn indexes(&self) -> u64 {
        if self.builds() { self.designs.len() as u64 } else { 0 }
    }

    fn audited(&self) -> Vec<String> {
        self.audit_views.iter().map(ToString::to_string).collect()
    }

    fn partitioned(&self) -> Option<bool> {
        let made = self.server.is_some() && self.database.must_be_new();
        made.then_some(self.making.partitioned)
    }

    fn compaction(&self) -> CompactionPlan {
        self.compaction
    }

    fn ways(&self) -> &'static [Way] {
        &Way::ALL
    }

    fn named_database(&self) -> Option<&str> {
        self.database.name()
    }

    fn accepts_any_certificate(&self) -> bool {
        self.tls.insecure
    }

    fn lacks_password(&self) -> bool {
        let lacks = |LogIn { user, password }: LogIn| user.is_some() && password.is_none();
        self.all(None).into_iter().any(|node| lacks(node.login))
    }

    fn secrets(&self) -> LeftOut {
        let mut left_out = self.login.secrets("");
        for (place, node) in self.nodes.iter().enumerate() {
            left_out.extend(node.login.secrets(&format!("/nodes/{place}")));
        }
        if !self.headers.is_empty() {
            left_out.insert("/headers".to_owned(), self.headers.clone().into());
        }
        left_out
    }

    fn problem(&self) -> Option<String> {
        let others = self.nodes.iter().map(|node| &node.server);
        if self.server.is_none() && !self.nodes.is_empty() {
            return Some("the stand-in has no other nodes".to_owned());
        }
        for server in self.server.iter().chain(others) {
            let url = Url::parse(server).ok();
            let plain = url.filter(|url| {
                matches!(url.scheme(), "http" | "https")
                    && url.host_str().is_some_and(|host| !host.is_empty())
                    && url.username().is_empty()
                    && (url.path(), url.query(), url.fragment()) == ("/", None, None)
            });
            if plain.is_none() {
                return Some("server is not the address of a server".to_owned());
            }
        }
        if self.headers.iter().any(|header| header.ends_with(": ***")) {
            return Some("the values of headers are not stored".to_owned());
        }
        if let Some(problem) = self.databases.and_then(|spread| spread.problem()) {
            return Some(problem);
        }
        if self.databases.is_some() && matches!(self.database, DatabasePlan::Kept { .. }) {
            return Some("many databases, some of which may already exist".to_owned());
        }
        if self.databases.is_some() && !(self.designs.is_empty() && self.audit_views.is_empty()) {
            return Some("many databases, with design documents or views".to_owned());
        }
        let name = self.database.name();
        name.filter(|name| name.is_empty() || name.starts_with('_'))
            .map(|_| "a database without a name, or one that belongs to the server".to_owned())
    }

    fn through(&self, node: usize, database: &str) -> Option<TargetPlan> {
        let NodePlan { server, login } =
            self.all(None).into_iter().nth(node).filter(|_| !self.nodes.is_empty())?;
        Some(TargetPlan::CouchDb(Self {
            server: Some(server),
            login,
            nodes: Vec::new(),
            pin: false,
            database: DatabasePlan::Existing { name: database.to_owned() },
            making: Making::default(),
            designs: Vec::new(),
            ..self.clone()
        }))
    }

    fn has_detours(&self) -> bool {
        true
    }

    fn has_maintenance(&self) -> bool {
        true
    }

    fn maintained<'a>(
        &'a self,
        opening: &'a Opening,
        node: usize,
    ) -> Local<'a, Result<Option<String>, TargetError>> {
        Box::pin(self.maintenance(opening, node))
    }

    fn maintain<'a>(
        &'a self,
        opening: &'a Opening,
        node: usize,
        mode: Option<&'a str>,
    ) -> Local<'a, Result<(), TargetError>> {
        Box::pin(self.set_maintenance(opening, node, mode))
    }

    fn copies<'a>(
        &'a self,
        opening: &'a Opening,
        database: &'a str,
    ) -> Local<'a, Result<Option<Copies>, TargetError>> {
        Box::pin(async {
            match self.databases {
                Some(_) => Ok(None),
                None => self.compare_copies(opening, database).await,
            }
        })
    }

    fn proves_each_request(&self) -> bool {
        self.login.user.is_some() && self.auth == Auth::Basic
    }

    /// The stand-in's end of each connection is in this process, too.
    fn descriptors(&self) -> u64 {
        if self.is_stand_in() { 2 } else { 1 }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let auth = match (&self.login.user, self.auth) {
            (None, _) if self.headers.iter().any(|it| is_named(it, "authorization")) => {
                "header Authorization"
            }
            (None, _) => "none",
            (Some(_), Auth::Cookie) => "session cookie",
            (Some(_), Auth::Basic) => "Basic, in every request",
            (Some(_), Auth::Proxy | Auth::ProxySha1) => "proxy, in every request",
        };
        let mut facts = vec![("authentication", auth.to_owned())];
        let made_with = self.making.query();
        if !made_with.is_empty() {
            facts.push(("made with", made_with.trim_start_matches('?').to_owned()));
        }
        if let Some(Spread { count, .. }) = self.databases {
            facts.push(("databases", count.to_string()));
        }
        match self.compaction {
            CompactionPlan::Auto => {}
            CompactionPlan::Off => facts.push(("compaction", "off".to_owned())),
            CompactionPlan::Force => facts.push(("compaction", "forced".to_owned())),
        }
        if !self.quorum.is_default() {
            facts.push(("quorum", self.quorum.parameters()));
        }
        facts
    }
}
