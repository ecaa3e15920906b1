#[test]
fn diff() {
    use crate::*;
    let f = std::fs::File::open("/tmp/expr/t.arrow").unwrap();
    let r = arrow_ipc::reader::FileReader::try_new(f, None).unwrap();
    let schema = r.schema();
    let batch = r.into_iter().next().unwrap().unwrap();
    for n in ["1", "2", "3"] {
        let text = std::fs::read_to_string(format!("/tmp/expr/q{n}.txt")).unwrap();
        let mut out = String::new();
        for q in text.lines().filter(|l| !l.trim().is_empty()) {
            let res = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                Predicate::parse(q, &schema).and_then(|p| {
                    let again = Predicate::parse(&p.to_string(), &schema).map(|a| a.logical() == p.logical());
                    let m = p.evaluate_mask(&batch)?;
                    let rows: Vec<_> = m.set_indices().collect();
                    Ok((rows, p.to_string(), p.logical().to_string(), again))
                })
            }));
            match res {
                Ok(Ok((rows, sql, logical, again))) => out += &format!("{q:60} -> {rows:?} ## {} ## {logical}\n", if again == Ok(true) {String::new()} else {format!("{sql} {again:?}")}),
                Ok(Err(e)) => out += &format!("{q:60} !! {e}\n"),
                Err(_) => out += &format!("{q:60} PANIC\n"),
            }
        }
        std::fs::write(format!("/tmp/expr/r{n}.txt"), out).unwrap();
    }
}
