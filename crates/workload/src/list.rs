//! Generates the type of a stage's plan from the list of workloads.

/// Declares the modules, and [`WorkloadPlan`](super::WorkloadPlan) with a variant for each line:
/// the stored name of the workload, its module, and the type of its settings.
macro_rules! workloads {
    ($($stored:literal => $module:ident::$Plan:ident),* $(,)?) => {
        $(pub mod $module;)*

        /// What a stage does, with the settings of its workload.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "workload")]
        pub enum WorkloadPlan {
            $(#[serde(rename = $stored)] #[doc = concat!("The workload `", $stored, "`.")]
            $Plan(Box<$module::$Plan>),)*
        }

        $(impl From<$module::$Plan> for WorkloadPlan {
            fn from(plan: $module::$Plan) -> Self {
                Self::$Plan(Box::new(plan))
            }
        })*

        /// The names that `run --workload` accepts, each with a short description.
        pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
            [$($module::$Plan::NAMES,)*].into_iter().flatten().copied()
        }

        /// Makes a request from the name of a workload and the flags of `run`.
        ///
        /// # Errors
        /// If the name is unknown, or a flag does not apply to the workload.
        pub fn demand(name: &str, asked: &RunAsked) -> Result<Arc<dyn Demand>, Invalid> {
            $(if $module::$Plan::NAMES.iter().any(|(known, _)| *known == name) {
                return $module::$Plan::demand(name, asked);
            })*
            let names: Vec<_> = names().map(|(name, _)| name).collect();
            let cure = format!("give one of {}", names.join(", "));
            Err(Invalid::new("--workload", format!("{name} is not a workload"), cure))
        }

        impl StageWork for WorkloadPlan {
            fn does(&self, kind: OpKind) -> bool {
                match self { $(Self::$Plan(it) => it.does(kind),)* }
            }
            fn check_again(&self, restored: &Restored<'_>, mistakes: &mut Vec<Invalid>) {
                match self { $(Self::$Plan(it) => it.check_again(restored, mistakes),)* }
            }
            fn operations(&self, k: usize, connections: usize) -> Option<u64> {
                match self { $(Self::$Plan(it) => it.operations(k, connections),)* }
            }
            fn describe(&self, count: &dyn Fn(u64) -> String) -> Vec<String> {
                match self { $(Self::$Plan(it) => it.describe(count),)* }
            }
            fn carry_out<R: Runner>(
                &self,
                cx: &LaneContext,
                stock: &mut Stock,
                runner: R,
            ) -> Result<R::Output, R::Error> {
                match self { $(Self::$Plan(it) => it.carry_out(cx, stock, runner),)* }
            }
            fn fields(&self) -> Vec<String> {
                match self { $(Self::$Plan(it) => it.fields(),)* }
            }
            fn needs_order(&self) -> bool {
                match self { $(Self::$Plan(it) => it.needs_order(),)* }
            }
            fn fill(&self) -> Option<Fill> {
                match self { $(Self::$Plan(it) => it.fill(),)* }
            }
            fn forget_batch(&mut self) {
                match self { $(Self::$Plan(it) => it.forget_batch(),)* }
            }
            fn must_store(&self) -> Option<u64> {
                match self { $(Self::$Plan(it) => it.must_store(),)* }
            }
            fn provokes_conflicts(&self) -> bool {
                match self { $(Self::$Plan(it) => it.provokes_conflicts(),)* }
            }
            fn verifies(&self) -> bool {
                match self { $(Self::$Plan(it) => it.verifies(),)* }
            }
            fn is_auditable(&self) -> bool {
                match self { $(Self::$Plan(it) => it.is_auditable(),)* }
            }
            fn shares_documents(&self) -> bool {
                match self { $(Self::$Plan(it) => it.shares_documents(),)* }
            }
            fn original(&self, cx: &LaneContext) -> Box<dyn Original> {
                match self { $(Self::$Plan(it) => it.original(cx),)* }
            }
            fn audits(&self) -> bool {
                match self { $(Self::$Plan(it) => it.audits(),)* }
            }
            fn counts_others(&self) -> bool {
                match self { $(Self::$Plan(it) => it.counts_others(),)* }
            }
            fn grows(&self) -> bool {
                match self { $(Self::$Plan(it) => it.grows(),)* }
            }
            fn is_parted(&self) -> bool {
                match self { $(Self::$Plan(it) => it.is_parted(),)* }
            }
            fn gathering(&self) -> Option<Gathering> {
                match self { $(Self::$Plan(it) => it.gathering(),)* }
            }
            fn why_too_few(&self) -> &'static str {
                match self { $(Self::$Plan(it) => it.why_too_few(),)* }
            }
        }
    };
}
