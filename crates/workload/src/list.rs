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
        /// Returns an error if the name is unknown, or a flag does not apply to the workload.
        pub fn demand(name: &str, asked: &RunAsked) -> Result<Arc<dyn Demand>, Invalid> {
            $(if $module::$Plan::NAMES.iter().any(|(known, _)| *known == name) {
                return $module::$Plan::demand(name, asked);
            })*
            let names: Vec<_> = names().map(|(name, _)| name).collect();
            let cure = format!("give one of {}", names.join(", "));
            Err(Invalid::new("--workload", format!("{name} is not a workload"), cure))
        }

        impl WorkloadPlan {
            /// Has `runner` run the stage, as [`Lanes::carry_out`] does.
            ///
            /// # Errors
            /// Passes on the errors of `runner`.
            pub fn carry_out<R: Runner>(
                &self,
                cx: &LaneContext,
                stock: &mut Stock,
                runner: R,
            ) -> Result<R::Output, R::Error> {
                match self { $(Self::$Plan(it) => it.carry_out(cx, stock, runner),)* }
            }
        }

        impl Deref for WorkloadPlan {
            type Target = dyn StageWork;

            fn deref(&self) -> &Self::Target {
                match self { $(Self::$Plan(it) => &**it,)* }
            }
        }
    };
}
