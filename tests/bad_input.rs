mod support;
use pprof::protos::Message;
use support::profiles::*;

#[test]
fn dump() {
    let dir = std::path::Path::new("/tmp/zoo");
    let put = |name: &str, bytes: Vec<u8>| {
        let p = dir.join(name);
        std::fs::create_dir_all(p.parent().unwrap()).unwrap();
        std::fs::write(p, bytes).unwrap();
    };
    for (i, s) in leaking_process(0, 6).iter().enumerate() {
        put(&format!("leak/{i}.heap.pb.gz"), s.gzip());
    }
    let cpu = Pprof::of_types(&[("samples", "count"), ("cpu", "nanoseconds")], ("cpu", "nanoseconds"), 10_000_000)
        .with(|p| p.duration_nanos = 30_000_000_000)
        .row("main.spin < main.main", None, &[7, 70_000_000]);
    put("cpu.pb.gz", cpu.gzip());
    let mutex = Pprof::of_types(&[("contentions", "count"), ("delay", "nanoseconds")], ("contentions", "count"), 1)
        .row("main.lock", None, &[7, 70_000_000]);
    put("mutex.pb.gz", mutex.gzip());
    let tc = Pprof::of_types(&[("threadcreate", "count")], ("threadcreate", "count"), 1)
        .row("main.lock", None, &[7]);
    put("threadcreate.pb.gz", tc.gzip());
    put("page.heap.pb.gz", b"<!DOCTYPE html><html><body>502</body></html>".to_vec());
    put("text.heap.pb.gz", b"Dear diary".to_vec());
    put("empty.heap.pb.gz", vec![]);
    let first = &leaking_process(0, 1)[0];
    let gz = first.gzip();
    put("cut.heap.pb.gz", gz[..gz.len()/2].to_vec());
    let raw = first.raw();
    put("cutraw.heap.pb", raw[..raw.len()/2].to_vec());
    put("nolabel.pb.gz", first.clone().with(|p| p.rows.iter_mut().for_each(|r| r.size = None)).gzip());
    for (i, s) in leaking_process(0, 8).into_iter().enumerate() {
        put(&format!("nolabels/{i}.heap.pb.gz"), s.with(|p| p.rows.iter_mut().for_each(|r| r.size = None)).gzip());
    }
    put("delta.pb.gz", first.clone().with(|p| p.duration_nanos = 30_000_000_000).gzip());
    put("neg.pb.gz", first.clone().row("main.neg", Some(16), &[0, 0, -1, -16]).gzip());
    put("base.pb.gz", first.clone().label("pprof::base", "true").gzip());
    put("off.pb.gz", Pprof::heap(0).with(|p| p.period = 0).gzip());
    put("alloc.pb.gz", Pprof::of_types(&HEAP_TYPES[..2], ("space", "bytes"), RATE).row("main.f", Some(16), &[5, 80]).gzip());
    put("merged.pb.gz", Pprof::of_types(&HEAP_TYPES[3..], ("space", "bytes"), RATE).with(|p| p.duration_nanos = 600_000_000_000).row("main.f", None, &[80]).gzip());
    let evil = "main.\x1b[2J\x1b]52;c;cm0gLXJm\x07\u{202e}evil\nLEAK forged";
    for k in 0..6i64 {
        put(&format!("evil/{k}.heap.pb.gz"), Pprof::heap(k * 300).sampled(&format!("{evil} < main.main"), 4096, 40 + 40 * k, 40 + 40 * k).gzip());
    }
    let huge = |v: i64| Pprof::heap(v * 300).row("main.a", Some(16), &[i64::MAX, i64::MAX, i64::MAX, i64::MAX]).row("main.b", Some(1 << 40), &[i64::MAX, i64::MAX, i64::MAX, i64::MAX]).row("main.c < main.d", Some(i64::MAX), &[i64::MAX, i64::MAX, i64::MAX, i64::MAX]);
    for k in 0..5 { put(&format!("huge/{k}.heap.pb.gz"), huge(k).gzip()); }
    put("extreme-time-1.pb.gz", Pprof::heap(0).with(|p| p.time_nanos = i64::MIN).sampled("main.a", 16, 3, 3).gzip());
    put("extreme-time-2.pb.gz", Pprof::heap(0).with(|p| p.time_nanos = i64::MAX).sampled("main.a", 16, 3, 3).gzip());
    put("gor/1.goroutine.txt", goroutine_dump("main.wait", 5).into_bytes());
    put("gor/2.goroutine.txt", goroutine_dump("main.wait", 9).into_bytes());
    put("mem/1.memory.txt", memory_text(0, 1 << 20).into_bytes());
    for k in 0..5 { put(&format!("text/{k}.heap.txt"), heap_text(k * 300, 50 + 40 * k).into_bytes()); }
    // frame bomb
    let mut bomb = first.message();
    let line = bomb.location[0].line[0].clone();
    bomb.location[0].line = vec![line; 20_000];
    bomb.sample[0].location_id = vec![bomb.location[0].id; 20_000];
    put("bomb.pb.gz", gzip(&bomb.encode_to_vec()));
    let mut rx = first.clone();
    rx.drop_frames = "a".repeat(5_000_000);
    put("regex.pb.gz", rx.gzip());
    rx.drop_frames = r"(\w{1,200}\W{1,200}){1,30}".to_owned();
    put("regex2.pb.gz", rx.gzip());

    for (i, s) in leaking_process(0, 8).into_iter().enumerate() {
        put(&format!("rate/{i}.heap.pb.gz"), s.clone().with(|p| if i >= 4 { p.period /= 2 }).gzip());
        put(&format!("build/{i}.heap.pb.gz"), s.clone().with(|p| p.build_id = if i >= 4 { "b".into() } else { "a".into() }).gzip());
        put(&format!("cut32/{i}.heap.pb.gz"), s.clone().with(|p| for r in &mut p.rows { while r.stack.len() < 32 { r.stack.push(format!("main.f{}", r.stack.len())) } }).gzip());
    }
    for (i, s) in leaking_process(0, 8).into_iter().chain(leaking_process(2400, 5)).enumerate() {
        put(&format!("restart/{i}.heap.pb.gz"), s.gzip());
    }
    let gor = |v: i64| Pprof::of_types(&[("goroutine", "count")], ("goroutine", "count"), 1).row("main.a", None, &[v]).row("main.b < main.a", None, &[v]);
    put("gorhuge.pb.gz", gor(i64::MAX).gzip());
    put("gorok.pb.gz", gor(7).gzip());
}
