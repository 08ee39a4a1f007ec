//! Graphs: what is launched, and which of them are still as they were captured.

use crate::attach::with_agent;
use crate::call::{After, Call, raw_stream};
use crate::effect::copy::happens;
use crate::seen::observed::{Observed, Transfer};
use strobe_hip::{Graph, GraphExec, Stream};

/// Launches a graph. Branches of it run on streams of HIP's own, and copies from pageable memory are done
/// by the CPU: its thread waits. One that is not known may do anything.
pub unsafe fn launch_graph(exec: GraphExec, stream: Stream) -> Call {
    with_agent(|agent| {
        let stream = raw_stream(stream);
        let Some(recording) = agent.graphs.of(exec) else {
            let (stream, is_graph) = (Some(stream), true);
            agent.observe(&Observed::Anything { stream, is_graph }, None);
            return After::Nothing;
        };
        let is_captured = agent.is_captured(stream);
        for recorded in recording.on(stream) {
            if is_captured {
                agent.graphs.record(&recorded);
            }
            match recorded {
                Observed::Transfer(transfer) => {
                    let waits = false;
                    happens(agent, Transfer { waits, ..transfer }, None);
                }
                _ => agent.note(&recorded, None),
            }
        }
        After::Nothing
    })
}

/// `hipGraphInstantiate` and its kin.
pub unsafe fn instantiate_graph(place: *mut GraphExec, graph: Graph) -> Call {
    with_agent(|_| After::InstantiatedGraph { place, graph })
}

/// `hipGraphExecUpdate`: an instance is made to do what a graph says.
pub unsafe fn update_graph_exec(exec: GraphExec, graph: Graph) -> Call {
    with_agent(|agent| {
        // Where it fails, who knows how far it came.
        agent.graphs.forget_exec(exec);
        After::UpdatedGraph { exec, graph }
    })
}

/// A graph gets another node.
pub unsafe fn change_graph(graph: Graph) -> Call {
    with_agent(|agent| {
        agent.graphs.changed(graph);
        After::Nothing
    })
}

/// `hipGraphDestroy`.
pub unsafe fn destroy_graph(graph: Graph) -> Call {
    with_agent(|agent| {
        agent.graphs.forget(graph);
        After::Nothing
    })
}

/// A node of an instance is changed, or the instance goes.
pub unsafe fn change_graph_exec(exec: GraphExec) -> Call {
    with_agent(|agent| {
        agent.graphs.forget_exec(exec);
        After::Nothing
    })
}

/// A node of some graph is changed, or may be: HIP 5.2 hands out its arguments where they lie.
pub unsafe fn change_graphs() -> Call {
    with_agent(|agent| {
        agent.graphs.forget_all();
        After::Nothing
    })
}
