//! springload's own verbs, one file or folder each.

mod baseline;
mod filled;
mod found;
pub(in crate::cli) mod kept;
mod kinds;
mod named;
mod other;
mod reading;
mod saved;
mod scenario;
mod stored;
mod study;

super::verbs! {
    run: Run,
    init: Init,
    audit: Audit,
    sweep: Sweep,
    max: Max,
    ab: Ab,
    replicate: Replicate,
    burst: Burst,
    drill: Drill,
    http: Http,
    hbase: HBase,
    k8s: K8s,
    agent: AgentVerb,
    schema: Schema,
    import: Import,
    report: Report,
    list: List,
    compare: Compare,
    trend: TrendVerb,
    size: Size,
    selftest: Selftest,
    shell: Shell,
    serve: Serve,
    clean: Clean,
    completions: Completions Man,
}
