//! Makes, of the list of workloads, the type that a stage's plan has one of.

/// Declares the modules, and [`WorkloadPlan`](super::WorkloadPlan) with a variant for each line:
/// the stored name of the workload, its module, the type of its settings.
macro_rules! workloads {
    ($($stored:literal => $module:ident::$Plan:ident),* $(,)?) => {
        $(pub mod $module;)*

        /// What a stage does, with the settings of its workload.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "workload")]
        pub enum WorkloadPlan {
            $(#[serde(rename = $stored)] #[doc = concat!("Stored as `", $stored, "`.")]
            $Plan(Box<$module::$Plan>),)*
        }

        $(impl From<$module::$Plan> for WorkloadPlan {
            fn from(plan: $module::$Plan) -> Self {
                Self::$Plan(Box::new(plan))
            }
        })*

        impl StageWork for WorkloadPlan {
            fn does(&self, kind: OpKind) -> bool {
                match self { $(Self::$Plan(it) => it.does(kind),)* }
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
