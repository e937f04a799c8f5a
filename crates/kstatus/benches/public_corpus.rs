//! How many objects a second: from parsed objects of the public corpus to status, message and evidence.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kstatus::{Options, Profile, compute};
use serde_json::Value;

fn objects() -> Vec<Value> {
    let corpus: Value = serde_json::from_str(include_str!("../tests/corpus/public.json")).unwrap_or_default();
    let cases = corpus.get("cases").and_then(Value::as_array).cloned().unwrap_or_default();
    cases.iter().filter_map(|case| case.get("object").cloned()).collect()
}

fn public_corpus(criterion: &mut Criterion) {
    let objects = objects();
    let mut group = criterion.benchmark_group("public_corpus");
    group.throughput(Throughput::Elements(objects.len() as u64));
    for (name, profile) in [("compatible", Profile::Compatible), ("strict", Profile::Strict)] {
        let options = Options { profile, now: jiff::Timestamp::UNIX_EPOCH };
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for object in &objects {
                    drop(black_box(compute(black_box(object), &options)));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, public_corpus);
criterion_main!(benches);
