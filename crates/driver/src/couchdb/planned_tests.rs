//! What a planned CouchDB says of itself, and which plans are refused.

use super::{CouchPlan, Credentials, DriverPlan as _, TargetAsked};
use crate::op::Way;
use crate::words::OperationPlan;
use crate::{
    Auth, CompactionPlan, DatabasePlan, Databases, Existing, Opening, Planned as _, Spread,
    TargetPlan,
};
use serde_json::{Map, Value, json};

fn options(value: Value) -> Map<String, Value> {
    let Value::Object(options) = value else { panic!("options") };
    options
}

fn plan(asked: &TargetAsked) -> CouchPlan {
    CouchPlan::check(asked).unwrap_or_else(|mistake| panic!("{mistake}"))
}

fn at(address: &str) -> CouchPlan {
    plan(&TargetAsked::at(address))
}

#[test]
fn a_plan_tells_where_the_load_goes_and_who_logs_in() {
    let one = at("http://ann:se%2Fcret@h:1/db?q=2&partitioned=false&r=1&w=2");
    assert_eq!((one.address().as_deref(), one.nodes()), (Some("http://h:1"), Vec::new()));
    let asked = TargetAsked {
        nodes: vec!["http://i:2/db".to_owned(), "http://bob@j:3".to_owned()],
        headers: vec!["X-Test: 1".to_owned()],
        pin: true,
        options: options(json!({"ddocs": [{"_id": "_design/a"}]})),
        ..TargetAsked::at("http://ann:x@h:1/db?q=2&r=1")
    };
    let three = plan(&asked);
    assert_eq!(three.address().as_deref(), Some("http://h:1,http://i:2,http://j:3"));
    assert_eq!(three.nodes(), ["http://h:1", "http://i:2", "http://j:3"]);
    assert!(three.lacks_password() && !one.lacks_password() && !at("http://h:1").lacks_password());
    assert_eq!(json!(one.secrets()), json!({"/password": "se/cret"}));
    assert_eq!(json!(three.secrets()), json!({"/password": "x", "/headers": ["X-Test: 1"]}));
    let through = |plan: &CouchPlan, node| match plan.through(node, "x") {
        Some(TargetPlan::CouchDb(plan)) => Some(plan),
        _ => None,
    };
    assert_eq!(through(&one, 0), None, "there is only one");
    assert_eq!(through(&three, 3), None);
    let second = through(&three, 2).unwrap();
    assert_eq!((second.address().as_deref(), second.nodes()), (Some("http://j:3"), Vec::new()));
    assert_eq!(second.login.user.as_deref(), Some("bob"));
    assert_eq!(second.database, DatabasePlan::Existing { name: "x".to_owned() });
    assert!(!second.pin && second.headers == ["X-Test: 1"] && second.quorum == three.quorum);
    assert!(second.making.is_default() && second.designs.is_empty(), "it is not made again");
    for (plan, descriptors) in [(&one, 1), (&CouchPlan::check(&stand_in()).unwrap(), 2)] {
        assert_eq!((plan.descriptors(), plan.is_stand_in()), (descriptors, descriptors == 2));
    }
}

fn stand_in() -> TargetAsked {
    TargetAsked { address: None, ..TargetAsked::at("") }
}

#[test]
fn facts_tell_how_the_user_is_known_and_how_the_database_is_made() {
    let facts = |asked: &TargetAsked| {
        let facts = plan(asked).facts().into_iter();
        facts.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
    };
    let with = |address: &str, auth: Auth, header: &str| {
        let headers = Some(header.to_owned()).filter(|it| !it.is_empty()).into_iter().collect();
        facts(&TargetAsked { auth, headers, ..TargetAsked::at(address) })
    };
    let (ann, nobody) = ("http://ann:x@h:1", "http://h:1");
    assert_eq!(with(nobody, Auth::Cookie, ""), ["authentication: none"]);
    assert_eq!(with(nobody, Auth::Cookie, "X-Test: 1"), ["authentication: none"]);
    let header = with(nobody, Auth::Cookie, "authorization: Bearer x");
    assert_eq!(header, ["authentication: header Authorization"]);
    assert_eq!(with(ann, Auth::Cookie, ""), ["authentication: session cookie"]);
    assert_eq!(with(ann, Auth::Basic, ""), ["authentication: Basic, in every request"]);
    assert_eq!(with(ann, Auth::Proxy, ""), ["authentication: proxy, in every request"]);
    let proves = |address, auth| {
        plan(&TargetAsked { auth, ..TargetAsked::at(address) }).proves_each_request()
    };
    assert!(
        proves(ann, Auth::Basic) && !proves(ann, Auth::Cookie) && !proves(nobody, Auth::Cookie)
    );
    let spread = json!({"count": 3, "documents": 30, "batch": 10});
    for (compaction, shown) in [("off", "off"), ("force", "forced")] {
        let asked = TargetAsked {
            options: options(json!({"databases": spread, "compaction": compaction})),
            ..TargetAsked::at("http://h:1/db?q=2&n=1&r=1&w=2")
        };
        let wanted = [
            "authentication: none",
            "made with: q=2&n=1",
            "databases: 3",
            &format!("compaction: {shown}"),
            "quorum: r=1&w=2",
        ];
        assert_eq!(facts(&asked), wanted);
        assert_ne!(plan(&asked).compaction(), CompactionPlan::Auto);
    }
}

#[test]
fn a_plan_tells_what_it_is_made_of() {
    let spread = Spread { count: 3, documents: 30, batch: 10 };
    let many = |address: &str, existing, keep| {
        let options = options(json!({"databases": spread}));
        plan(&TargetAsked { existing, keep, options, ..TargetAsked::at(address) }).databases()
    };
    let of = |made, removed, own_names| Some(Databases { spread, made, removed, own_names });
    assert_eq!(many("http://h:1", Existing::No, false), of(true, true, true));
    assert_eq!(many("http://h:1/u", Existing::No, true), of(true, false, false));
    assert_eq!(many("http://h:1/u", Existing::Yes, false), of(false, false, false));
    assert_eq!(at("http://h:1").databases(), None);
    assert_eq!(at("http://h:1/a%2Fb").named_database(), Some("a/b"));
    assert_eq!(at("http://h:1").named_database(), None);
    let design = json!({"_id": "_design/a", "views": {"v": {"map": "m"}}});
    let with = |more: Value| {
        let mut all = options(json!({"ddocs": [design], "audit_view": ["a/v"]}));
        all.extend(options(more));
        plan(&TargetAsked { options: all, ..TargetAsked::at("http://h:1") })
    };
    assert_eq!((with(json!({})).indexes(), with(json!({"no_build": true})).indexes()), (1, 0));
    assert_eq!(with(json!({})).audited(), ["a/v"]);
    assert_eq!(at("http://h:1").indexes(), 0);
    let partitioned = |address: &str, existing| {
        let id_prefix = "p:".to_owned();
        plan(&TargetAsked { existing, id_prefix, ..TargetAsked::at(address) }).partitioned()
    };
    assert_eq!(partitioned("http://h:1/u?partitioned=true", Existing::No), Some(true));
    assert_eq!(partitioned("http://h:1/u", Existing::No), Some(false));
    assert_eq!(partitioned("http://h:1/u", Existing::Yes), None, "it was made by others");
    assert_eq!(plan(&stand_in()).partitioned(), None);
    let plan = at("http://h:1");
    let spell = |text: &str| plan.spell(&OperationPlan::parse(text).unwrap());
    assert_eq!(spell("own-holes=get {{key}}?rev={{saved rev}}").unwrap(), ["key", "saved rev"]);
    assert!(spell("own-holes=fly").unwrap_err().to_string().contains("not a word of CouchDB"));
    assert!(plan.has_detours() && plan.has_maintenance() && !plan.accepts_any_certificate());
    assert_eq!(plan.ways(), Way::ALL);
    let mut asked = TargetAsked::at("https://h:1");
    asked.tls.insecure = true;
    assert!(CouchPlan::check(&asked).unwrap().accepts_any_certificate());
}

#[test]
fn a_stored_plan_that_nobody_can_have_asked_for_is_refused() {
    let stored = json!({
        "server": "http://h:1", "user": null, "auth": "cookie", "tls_ca": null,
        "database": {"kind": "new", "name": "db", "keep": false},
    });
    let problem = |change: Value| {
        let mut stored = stored.clone();
        let members = stored.as_object_mut().unwrap();
        members.extend(options(change));
        serde_json::from_value::<CouchPlan>(stored).unwrap().problem().unwrap_or_default()
    };
    let node = |server: &str| json!([{"server": server, "user": null}]);
    let spread = json!({"count": 3, "documents": 30, "batch": 10});
    let kept = json!({"kind": "kept", "name": "db"});
    let named = |name: &str| json!({"database": {"kind": "existing", "name": name}});
    assert_eq!(problem(json!({"nodes": node("http://i:1"), "headers": ["a: b"]})), "");
    assert_eq!(problem(json!({"server": null})), "");
    assert_eq!(problem(json!({"databases": spread})), "");
    for (change, wanted) in [
        (json!({"server": null, "nodes": node("http://i:1")}), "the stand-in has no other nodes"),
        (json!({"headers": ["a: b", "c: ***"]}), "the values of headers are not stored"),
        (json!({"databases": {"count": 0, "documents": 1, "batch": 1}}), "0 databases;"),
        (json!({"databases": spread, "database": kept}), "many databases, some of which may"),
        (json!({"databases": spread, "audit_views": ["a/b"]}), "many databases, with design doc"),
        (json!({"databases": spread, "designs": [{"_id": "_design/a"}]}), "many databases, with"),
        (named(""), "a database without a name"),
        (named("_users"), "a database without a name, or one that belongs to the server"),
    ] {
        let message = problem(change.clone());
        assert!(message.starts_with(wanted), "{message:?}, not {wanted}: {change}");
    }
    for server in
        ["h:1", "ftp://h:1", "http://ann@h:1", "http://h:1/db", "http://h:1?a", "http://h:1#a", "x"]
    {
        let wanted = "server is not the address of a server";
        assert_eq!(problem(json!({"server": server})), wanted, "{server}");
        assert_eq!(problem(json!({"nodes": node(server)})), wanted, "{server}");
    }
}

/// What is wrong with a request for a target.
fn mistake(asked: &TargetAsked) -> String {
    CouchPlan::check(asked).map_or_else(|mistake| mistake.to_string(), |_| "open".to_owned())
}

#[test]
fn an_address_that_cannot_be_used_is_refused_with_what_is_wrong() {
    for (address, wanted) in [
        ("http://h:1/db", "open"),
        ("h:1/db", "open"),
        ("HTTP://h:1", "open"),
        ("ftp://h:1", "no database has addresses that begin with ftp://"),
        ("http://", "TARGET: "),
        ("http://a b", "a space in "),
        ("http://h:99999/db", "invalid port number in "),
        ("http://a%3Ab@h:1", "there is a : in the user"),
        ("http://h:1/#a", "a fragment in "),
        ("http://h:1/c@i:1/db", "there is an @ after the host"),
        ("http://h:1/a/b", "more than one path segment"),
        ("http://h:1/_users", "a database name that begins with _"),
        ("http://h:1/db?q=0", "q=0, which is not a number above 0, in "),
        ("http://h:1/db?n=x", "n=x, which is not a number above 0, in "),
        ("http://h:1/db?r=0", "r=0, which is not a number above 0, in "),
        ("http://h:1/db?x=1", "x, which is not one of its parameters, in "),
        ("http://h:1/db?partitioned=1", "partitioned that is neither true nor false in "),
        ("http://h:1/db?partitioned=true", "partitioned=true, but ids without a partition"),
    ] {
        let message = mistake(&TargetAsked::at(address));
        assert!(message.contains(wanted), "{address}: {message}");
    }
    let existing = |address: &str| {
        mistake(&TargetAsked { existing: Existing::Yes, ..TargetAsked::at(address) })
    };
    assert_eq!(existing("http://h:1/db?r=1&w=2"), "open");
    assert!(existing("http://h:1/db?q=1").contains("although it must exist already"));
    for (prefix, wanted) in [("p:", "open"), (":", "without a partition"), ("p", "without a part")]
    {
        let id_prefix = prefix.to_owned();
        let address = "http://h:1/db?partitioned=true";
        let message = mistake(&TargetAsked { id_prefix, ..TargetAsked::at(address) });
        assert!(message.contains(wanted), "{prefix}: {message}");
    }
    let no_compaction = options(json!({"compaction": "off"}));
    let message = mistake(&TargetAsked { options: no_compaction, ..stand_in() });
    assert!(message.contains("--compaction: the stand-in compacts nothing"), "{message}");
}

#[test]
fn flags_that_have_no_effect_with_a_log_in_are_refused() {
    let (ann, nobody) = ("http://ann:x@h:1", "http://h:1");
    let roles = |roles: &str| options(json!({ "roles": roles }));
    let none = Map::new;
    let header = "Authorization: x";
    let cases = [
        (ann, Auth::Cookie, "X-Test: x", none(), "open"),
        (nobody, Auth::Cookie, header, none(), "open"),
        (ann, Auth::Cookie, header, none(), "--header: an Authorization header, although a user"),
        (nobody, Auth::Basic, "", none(), "basic, but there is no user"),
        (nobody, Auth::Proxy, "", none(), "proxy, but there is no user"),
        (ann, Auth::Basic, "", roles("a"), "--roles: only proxy authentication claims roles"),
        (ann, Auth::Proxy, "", roles("a,b"), "open"),
        (ann, Auth::ProxySha1, "", roles("a"), "open"),
        (ann, Auth::Proxy, "", roles(""), "--roles: not a list of roles"),
        (ann, Auth::Proxy, "", roles("a b"), "--roles: not a list of roles"),
        ("http://%C3%BC:x@h:1", Auth::Proxy, "", none(), "the user cannot be sent in a header"),
        ("http://%C3%BC:x@h:1", Auth::Basic, "", none(), "open"),
    ];
    for (address, auth, header, options, wanted) in cases {
        let headers = Some(header.to_owned()).filter(|it| !it.is_empty()).into_iter().collect();
        let asked = TargetAsked { auth, headers, options, ..TargetAsked::at(address) };
        let message = mistake(&asked);
        assert!(message.contains(wanted), "{address}, {auth:?}: {message}, not {wanted}");
    }
}

#[test]
fn nodes_have_to_be_those_of_one_cluster() {
    for (first, other, wanted) in [
        ("http://h:1/db", "http://i:1/db", "open"),
        ("http://h:1/db", "http://i:1", "open"),
        ("http://h:1/db?q=2&r=1", "http://i:1/db?q=2&r=1", "open"),
        ("http://h:1/db?q=2", "http://i:1/db", "open"),
        ("http://h:1/db", "http://h:1/db", "http://h:1 is given twice"),
        (
            "http://h:1/db",
            "http://i:1/other",
            "the databases \"db\" and \"other\" are not the same",
        ),
        ("http://h:1", "http://i:1/db", "only http://i:1 names the database \"db\""),
        ("http://h:1/db", "http://i:1/db?q=2", "other parameters for creating the database"),
        ("http://h:1/db?q=1", "http://i:1/db?q=2", "other parameters for creating the database"),
        ("http://h:1/db?r=1", "http://i:1/db?r=2", "other parameters for reading and writing"),
    ] {
        let message =
            mistake(&TargetAsked { nodes: vec![other.to_owned()], ..TargetAsked::at(first) });
        assert!(message.contains(wanted), "{first} {other}: {message}");
    }
}

/// All nodes of a cluster have a database that exists, whichever addresses name it.
#[test]
fn one_address_is_enough_to_name_a_database_that_exists() {
    let asked = TargetAsked {
        existing: Existing::Yes,
        nodes: vec!["http://i:1".to_owned()],
        ..TargetAsked::at("http://h:1/db")
    };
    let plan = plan(&asked);
    assert_eq!(plan.nodes(), ["http://h:1", "http://i:1"]);
    assert_eq!(plan.database, DatabasePlan::Existing { name: "db".to_owned() });
}

#[test]
fn a_log_in_of_a_proxy_is_signed_as_the_plan_says() {
    for (auth, sha1) in [(Auth::Proxy, false), (Auth::ProxySha1, true)] {
        let asked = TargetAsked {
            auth,
            options: options(json!({"roles": "dev"})),
            ..TargetAsked::at("http://ann:secret@h:1/db")
        };
        let plan = plan(&asked);
        let signed = Credentials::proxy("ann", "dev", "secret".to_owned(), sha1);
        assert!(plan.credentials(&plan.all(None)[0]) == signed, "{auth:?}");
    }
}

#[test]
fn design_documents_that_nothing_can_be_done_with_are_refused() {
    let view = |views: Value| json!({"_id": "_design/a", "views": views});
    let index = json!({"index": {"fields": ["a"]}, "ddoc": "d", "name": "n"});
    let without = |member: &str| {
        let mut index = index.clone();
        index.as_object_mut().unwrap().remove(member);
        index
    };
    let members = "an index has the members index.fields, ddoc and name";
    let good = view(json!({"v": {"map": "m"}, "lib": {}, "w": {"map": {"fields": {}}}}));
    for (designs, wanted) in [
        (json!([good, index, index]), "open"),
        (json!([good, {"index": {"fields": ["a"]}, "ddoc": "a", "name": "n"}]), "open"),
        (json!([{"_id": "_design/a"}]), "open"),
        (json!([{"index": {"fields": [{"a": "desc"}]}, "ddoc": "d", "name": "n"}]), "open"),
        (json!([without("ddoc")]), members),
        (json!([without("name")]), members),
        (json!([{"index": {"fields": []}, "ddoc": "d", "name": "n"}]), members),
        (json!([{"_id": "a"}]), "its _id is \"a\", not _design/NAME"),
        (json!([{"_id": "_design/"}]), "its _id is \"_design/\", not _design/NAME"),
        (json!([view(json!([]))]), "a: views is not an object"),
        (json!([view(json!({"v": {"map": 1}}))]), "a: the view v has no map"),
        (json!([good, good]), "--ddocs: a: there are two of that name"),
    ] {
        let options = options(json!({ "ddocs": designs }));
        let message = mistake(&TargetAsked { options, ..TargetAsked::at("http://h:1/db") });
        assert!(message.contains(wanted), "{designs}: {message}");
    }
    let whole = json!({"partitioned": false});
    let of = |design: Value, more: Value| {
        let mut design = options(design);
        design.extend(options(more));
        Value::Object(design)
    };
    let parts = "its indexes belong to partitions";
    for (design, no_build, wanted) in [
        (good.clone(), false, parts),
        (good.clone(), true, "open"),
        (of(good.clone(), json!({"options": whole})), false, "open"),
        (json!({"_id": "_design/a"}), false, "open"),
        (index.clone(), false, parts),
        (of(index.clone(), whole), false, "open"),
        (of(index.clone(), json!({"partitioned": true})), false, parts),
    ] {
        let asked = TargetAsked {
            options: options(json!({"ddocs": [design], "no_build": no_build})),
            id_prefix: "p:".to_owned(),
            ..TargetAsked::at("http://h:1/db?partitioned=true")
        };
        let message = mistake(&asked);
        assert!(message.contains(wanted), "{design}, {no_build}: {message}");
    }
}

#[test]
fn many_databases_have_no_copies_to_compare() {
    let spread = json!({"count": 3, "documents": 30, "batch": 10});
    let options = options(json!({ "databases": spread }));
    let plan = plan(&TargetAsked { options, ..TargetAsked::at("http://127.0.0.1:1") });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let copies = runtime.block_on(plan.copies(&Opening::default(), "u"));
    assert_eq!(copies.unwrap(), None, "nobody is asked");
}
