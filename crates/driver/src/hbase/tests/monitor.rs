//! Tests monitoring of a server beside the load.

use super::super::messages::RegionLoad;
use super::*;
use crate::NoReading;

#[test]
fn it_may_be_silent_or_gone_or_talk_nonsense() {
    local(async {
        let cluster = start(1, &TWO).await;
        let address = format!("hbase://{}/{TABLE}", cluster.borrow().servers[0]);
        let plan = HBasePlan::check(&TargetAsked::at(&address)).unwrap();
        let opening = Opening { timeout_ns: PATIENT, max_answer: 1 << 20, ..Opening::default() };
        let (target, _) = plan.open(&opening).await.unwrap();
        let mut monitor = target.monitors().remove(0);
        assert_eq!(monitor.ask(0).await.unwrap().values.len(), 6);
        for fault in [Fault::Silence, Fault::Close, Fault::Garbage, Fault::Endless] {
            cluster.borrow_mut().faults.push_back(fault);
            let missed = monitor.ask(0).await.unwrap_err();
            assert!(matches!(missed, NoReading::Missed(_)), "{fault:?}: {missed:?}");
            assert_eq!(monitor.ask(0).await.unwrap().values.len(), 6, "after {fault:?}");
        }
        cluster.borrow_mut().faults.push_back(Fault::Exception("UnknownProtocolException"));
        assert_eq!(monitor.ask(0).await, Err(NoReading::Unknown));
        // The largest values possible, repeatedly.
        let most = RegionLoad {
            reads: Some(u64::MAX),
            writes: Some(u64::MAX),
            memstore_mb: Some(u32::MAX),
            compacting: Some(u64::MAX),
            ..RegionLoad::default()
        };
        let none = RegionLoad { reads: Some(0), ..most.clone() };
        for region in [&most, &none, &most, &none, &most] {
            cluster.borrow_mut().loads.regions = vec![region.clone(); 3];
            let reading = monitor.ask(0).await.unwrap();
            assert!(reading.values.iter().all(|(_, value)| value.is_finite() && *value >= 0.0));
        }
    });
}
