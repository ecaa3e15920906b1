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
                    let again = Predicate::parse(&p.to_string(), &schema)
                        .map(|a| a.logical() == p.logical());
                    let m = p.evaluate_mask(&batch)?;
                    let rows: Vec<_> = m.set_indices().collect();
                    Ok((rows, p.to_string(), p.logical().to_string(), again))
                })
            }));
            match res {
                Ok(Ok((rows, sql, logical, again))) => {
                    out += &format!(
                        "{q:60} -> {rows:?} ## {} ## {logical}\n",
                        if again == Ok(true) {
                            String::new()
                        } else {
                            format!("{sql} {again:?}")
                        }
                    )
                }
                Ok(Err(e)) => out += &format!("{q:60} !! {e}\n"),
                Err(_) => out += &format!("{q:60} PANIC\n"),
            }
        }
        std::fs::write(format!("/tmp/expr/r{n}.txt"), out).unwrap();
    }
}
#[test]
fn depth() {
    use crate::*;
    use arrow_schema::*;
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("b", DataType::Boolean, true),
        Field::new("idd", DataType::Int64, true),
        Field::new("x", DataType::Utf8, true),
    ]);
    let join = |t: &str, sep: &str, n: usize| vec![t; n].join(sep);
    let ors = |n: usize| {
        (0..n)
            .map(|i| format!("id = {i}"))
            .collect::<Vec<_>>()
            .join(" or ")
    };
    let mixed = |n: usize| {
        (0..n)
            .map(|i| format!("(id = {i} and x = '{i}')"))
            .collect::<Vec<_>>()
            .join(" or ")
    };
    let cases = vec![
        ("or 5000", ors(5000)),
        ("or 50000", ors(50000)),
        ("mixed 5000", mixed(5000)),
        ("and", ors(5000).replace(" or ", " and ").replace('=', "<>")),
        ("plus 100", join("id", " + ", 100) + " > 0"),
        ("plus 250", join("idd", " + ", 250) + " > 0"),
        ("plus 100000", join("id", "+", 100000) + " > 0"),
        ("concat 250", join("x", "||", 250) + " = 'a'"),
        ("paren 40", "(".repeat(40) + "b" + &")".repeat(40)),
        ("paren 100000", "(".repeat(100000) + "b"),
        (
            "lower 40",
            "lower(".repeat(40) + "x" + &")".repeat(40) + "= 'a'",
        ),
        (
            "lower chains",
            ("lower(x || x || x || x || x ||".repeat(40)) + "x" + &")".repeat(40) + "= 'a'",
        ),
        (
            "case 40",
            "case when b then ".repeat(40) + "true" + &" else b end".repeat(40),
        ),
        ("not 40", "not ".repeat(40) + "b"),
        ("not 100000", "not ".repeat(100000) + "b"),
        ("minus", "- ".repeat(100000) + "1 = 1"),
        ("isnull", "b".to_owned() + &" is null".repeat(100000)),
        ("isnull 120", "b".to_owned() + &" is null".repeat(120)),
        ("cast", "id".to_owned() + &"::int".repeat(250) + " = 1"),
        ("eq", join("b", " = ", 100000)),
        (
            "between",
            join("id between 1 and 2", " between 1 and ", 50000),
        ),
        ("idx", "id".to_owned() + &"[1]".repeat(100000)),
        (
            "in 100000",
            format!(
                "id in ({})",
                (0..100000)
                    .map(|i| i.to_string())
                    .collect::<Vec<_>>()
                    .join(",")
            ),
        ),
        (
            "case 300",
            "case ".to_owned() + &"when id = 1 then b ".repeat(300) + "end",
        ),
        ("long", "x = '".to_owned() + &"a".repeat(5 << 20) + "'"),
        ("brackets", "[".repeat(100000)),
        ("interval", "interval ".repeat(100000)),
        ("date", "date ".repeat(100000)),
        ("case open", "case ".repeat(100000)),
        ("exists", "exists (select ".repeat(100000)),
        ("dots", join("s", ".", 100000)),
        ("array", "array[".repeat(10000)),
        ("cast(", "cast(".repeat(10000)),
        ("comment", "/*".repeat(100000)),
        ("types", "cast(id as ".to_owned() + &"array<".repeat(10000)),
        ("struct<", "struct<a ".repeat(10000)),
        ("map", "map {".repeat(10000)),
        ("tuple", "(id,".repeat(10000)),
    ];
    for kb in std::env::var("KB").unwrap_or("2048".into()).split(',') {
        let kb: usize = kb.parse().unwrap();
        for (n, q) in cases.clone() {
            let schema = schema.clone();
            eprintln!("{kb} {n}");
            let h = std::thread::Builder::new()
                .stack_size(kb << 10)
                .spawn(move || {
                    let t = std::time::Instant::now();
                    let r = match Predicate::parse(&q, &schema) {
                        Ok(p) => {
                            let b =
                                arrow_array::RecordBatch::new_empty(std::sync::Arc::new(schema));
                            format!(
                                "ok {:?} {:?}",
                                p.columns(),
                                p.evaluate_mask(&b).map(|m| m.len())
                            )
                        }
                        Err(e) => e.to_string().chars().take(150).collect(),
                    };
                    eprintln!("   {:?} {r}", t.elapsed());
                })
                .unwrap();
            h.join().unwrap();
        }
    }
}
