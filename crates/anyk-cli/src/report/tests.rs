//! Tests of the report: escaping, files, and charts with extreme numbers.

use std::fs;

use anyk::framework::{Chart, Series, Table};
use anyk::framework::{Claim, Picture, Silent};
use anyk::row;
use anyk_study::{Effort, Lab, Section, Study, StudySettings};

use super::html::Entry;
use super::{svg, write_report, write_studies, write_table};
use crate::outputs::{Outputs, ReportFolder};

/// Numbers of users in the sample.
const USERS: [f64; 7] = [1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 200.0];

/// Builds a table of four settings by number of users, with a curve of the paper for each measured one.
fn sample() -> Table {
    let series = |setting: usize, dashed: bool| {
        let scale = 0.4 * f64::from(u8::try_from(setting).unwrap());
        let factor = if dashed { 1.15 } else { 1.0 };
        let gap = USERS.map(|users| factor * scale * (1.0 + (users / 40.0).sqrt()));
        Series {
            label: format!("setting {setting}, {}", if dashed { "paper" } else { "measured" }),
            points: USERS.into_iter().zip(gap).collect(),
            dashed,
            spread: (!dashed).then(|| gap.map(|gap| (0.9 * gap, 1.1 * gap)).to_vec()),
            ..Series::default()
        }
    };
    let head = |setting: usize| {
        [
            (format!("availability {setting}"), "%", "{:.2}"),
            (format!("W {setting}"), "MHz", "{:.3}"),
        ]
    };
    let row = |users: f64| {
        let cells = [1.0, 2.0, 3.0, 4.0].map(|s| [100.0 - 0.01 * users / s, 0.11 * users * s]);
        row![users; cells.into_iter().flatten()]
    };
    Table {
        name: "table3".into(),
        title: "Table III: availability and bandwidth against the number of users".into(),
        note: "Trained at K = 200, tested at smaller K. 1000 channel draws each.".into(),
        columns: row!["K"; (1..=4).flat_map(head)],
        rows: USERS.map(row).to_vec(),
        chart: Some(Chart {
            title: "Bandwidth above the optimum".into(),
            x_label: "number of users K".into(),
            y_label: "gap to the optimum (%)".into(),
            log_x: true,
            log_y: false,
            series: (1..=4).flat_map(|s| [series(s, false), series(s, true)]).collect(),
        }),
        ..Table::default()
    }
}

/// Checks that all tags of an XML text are closed in order and that no text is left unescaped.
fn assert_balanced(xml: &str) {
    let mut open = Vec::new();
    let mut rest = xml;
    while let Some((before, after)) = rest.split_once('<') {
        assert!(!before.contains('>') || before.ends_with('\n'), "a stray > in {before:?}");
        let (tag, next) = after.split_once('>').expect("a tag that ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in <{tag}>");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closing </{name}>");
        } else if !tag.starts_with('!') && !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().expect("a tag with a name"));
        }
        rest = next;
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

#[test]
fn a_picture_shows_every_series_and_is_repeatable() {
    let chart = sample().chart.unwrap();
    let text = svg(&chart);
    assert!(text.starts_with("<svg viewBox=\"0 0 "));
    assert_balanced(&text);
    let labels = [&chart.title, &chart.x_label, &chart.y_label].into_iter();
    for label in labels.chain(chart.series.iter().map(|series| &series.label)) {
        assert!(text.contains(&format!(">{label}</text>")), "{label}");
    }
    // One line for each series; those of the paper are dashed.
    let lines: Vec<&str> =
        text.lines().filter(|line| line.contains("stroke-width=\"2\"")).collect();
    let dashed = lines.iter().filter(|line| line.contains("stroke-dasharray")).count();
    assert_eq!((lines.len(), dashed), (8, 4), "{text}");
    assert_eq!(text, svg(&chart), "the text depends only on the chart");
    for tick in ["1", "2", "5", "10", "20", "50", "100", "200"] {
        assert!(text.contains(&format!(">{tick}</text>")), "tick {tick}");
    }
}

#[test]
fn text_is_escaped_everywhere() {
    let hostile = "<script>alert(\"1\")</script> & 'x' | $a$ $b$ \u{1}\n# <!--body--> ε_D&lt;_k";
    let mut table = sample();
    table.title = hostile.into();
    table.note = hostile.into();
    table.columns[1] = hostile.into();
    table.rows[0][0] = hostile.into();
    let chart = table.chart.as_mut().unwrap();
    chart.title = hostile.into();
    chart.x_label = hostile.into();
    chart.y_label = hostile.into();
    chart.series[0].label = hostile.into();
    let picture = svg(chart);
    assert_balanced(&picture);
    assert!(picture.contains("$a$ $b$"), "dollar signs are no formula");

    let entries = [Entry { table: &table, about: Some(hostile.to_owned()) }];
    let page = super::html::page(hostile, hostile, "", &entries);
    assert!(!page.contains("<script") && !page.contains('\u{1}'));
    assert!(page.contains("&lt;script&gt;alert(&quot;1&quot;)"));
    assert!(page.contains("&lt;!--body--&gt; ε_D&amp;lt;_k"));
    assert_eq!(page.matches("<nav").count(), 1, "no text is taken for a part of the template");

    let markdown = super::files::markdown(&table);
    assert!(!markdown.replace("\\<", "").contains('<'));
    let unescaped = |line: &str| line.matches('|').count() - line.matches("\\|").count();
    for line in markdown.lines().filter(|line| line.starts_with('|')) {
        assert_eq!(unescaped(line), table.columns.len() + 1, "{line}");
    }
}

#[test]
fn hostile_numbers_are_drawn_or_dropped() {
    let values = [0.0, -1.0, 1e-320, 1e-12, 3.0, 3.0, 1e300, f64::MAX, f64::NAN, f64::INFINITY];
    let mut all: Vec<Vec<(f64, f64)>> =
        values.iter().flat_map(|&x| values.map(|y| vec![(x, y)])).collect();
    all.push(all.concat());
    all.push(Vec::new());
    all.push((0..40).map(|i| (f64::from(i), f64::from(i))).collect());
    for points in all {
        for (log_x, log_y) in [(false, false), (true, false), (false, true), (true, true)] {
            let short = points.len().saturating_sub(1);
            let series = [(-2.0, 1e-3), (f64::NAN, 4.0), (1.0, f64::INFINITY)].map(|ends| Series {
                spread: Some(vec![ends; short]),
                ..Series::solid("", points.clone())
            });
            let chart = Chart { log_x, log_y, series: series.to_vec(), ..Chart::default() };
            let text = svg(&chart);
            assert_balanced(&text);
            assert!(!text.contains("NaN") && !text.contains("inf"), "{points:?}");
            assert!(text.len() < 60_000, "{} bytes for {points:?}", text.len());
        }
    }
    assert!(svg(&Chart::default()).contains("no data"));
}

#[test]
fn files_are_written_whole() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("new/folder");
    let outputs = Outputs::default();
    let folder = ReportFolder::open(&dir, &outputs, &[]).unwrap();
    let mut plain = sample();
    (plain.name, plain.chart) = ("table4".into(), None);
    for table in [&sample(), &plain, &sample()] {
        write_table(&folder, table).unwrap();
    }
    write_report(&folder, "Title", "Subtitle", &[sample(), plain]).unwrap();
    let mut names: Vec<_> = fs::read_dir(&dir).unwrap().map(|f| f.unwrap().file_name()).collect();
    names.sort();
    let expected = [
        "anyk-manifest.json",
        "report.html",
        "table3.csv",
        "table3.md",
        "table3.svg",
        "table4.csv",
        "table4.md",
    ];
    assert_eq!(names, expected, "and no temporary file is left");

    let page = fs::read_to_string(dir.join("report.html")).unwrap();
    assert_eq!(page.matches("<svg ").count(), 1);
    assert!(page.contains("<a href=\"#table4\">") && page.contains("<section id=\"table4\">"));
    // The name of the SVG format is the only URL in the page.
    assert_eq!(page.matches("http").count(), page.matches("http://www.w3.org/2000/svg").count());
}

#[test]
fn names_stay_in_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::default();
    let folder = ReportFolder::open(dir.path(), &outputs, &[]).unwrap();
    for name in ["", "..", ".hidden", "a/b", "a\\b", "a b", "a\"b"] {
        let table = Table { name: name.into(), ..sample() };
        assert!(write_table(&folder, &table).is_err(), "{name:?}");
        assert!(write_report(&folder, "", "", &[table]).is_err(), "{name:?}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn csv_comes_back_as_it_went() {
    let table = Table {
        name: "t".into(),
        columns: row!["a, b", "c \"d\"", "e"],
        rows: vec![row!["1\n2", "x,y", "\""], row!["short"], row!["", "", ""]],
        ..Table::default()
    };
    let bytes = super::files::csv(&table).unwrap();
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let (heads, text) = table.text();
    assert_eq!(reader.headers().unwrap(), heads);
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows[0], vec!["1\n2", "x,y", "\""]);
    assert_eq!(rows[1], vec!["short", "", ""]);
    assert_eq!(rows, text);
    assert!(super::files::csv(&Table::default()).unwrap().is_empty());
}

#[test]
fn long_names_are_cut_and_empty_series_named() {
    let series =
        vec![Series::solid("ä".repeat(200), vec![(1.0, 1.0)]), Series::dashed("b", vec![])];
    let text = svg(&Chart { series, ..Chart::default() });
    assert!(text.contains(&format!(">{}…</text>", "ä".repeat(80))));
    assert!(text.contains(">b (no data)</text>") && !text.contains(">no data</text>"), "{text}");
}

/// Builds a section of a study with these tables.
fn section(study: &str, effort: Effort, tables: Vec<Table>) -> Section {
    let settings = StudySettings { trainings: Some(1), effort, cache: None };
    let lab = Lab::new(&settings, &Silent).unwrap();
    Section::new(Study::named(study).unwrap(), &lab, tables)
}

#[test]
fn a_report_begins_with_what_the_numbers_say() {
    let mut six = Table { name: "table6".into(), title: "Table VI".into(), ..sample() };
    six.claims = vec![
        Claim::paper("P-GNN serves <everyone>", "it does, for ε_D = 6e-6", true),
        Claim::paper("FNN serves no one", "it serves some", false),
        Claim::own("equal power is nearer", "at 4 of 4 sizes", true),
    ];
    let markdown = super::files::markdown(&six);
    assert!(
        markdown.contains("\n- \\[reproduces\\] P-GNN serves \\<everyone>: it does"),
        "{markdown}"
    );
    assert!(markdown.contains("\n- \\[does not reproduce\\] FNN"), "{markdown}");
    assert!(markdown.contains("\n- \\[holds\\] equal power"), "{markdown}");
    six.pictures = vec![Picture {
        subject: "bandwidth".into(),
        caption: "Look at <K>.".into(),
        chart: sample().chart.unwrap(),
    }];
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::default();
    let folder = ReportFolder::open(dir.path(), &outputs, &[]).unwrap();
    let sections = [
        section("table3", Effort::Trial, vec![sample()]),
        section("table6", Effort::Usual, vec![six]),
    ];
    write_studies(&folder, "T", &sections, Some("my folder")).unwrap();
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    assert_balanced(page[page.find("<body>").unwrap()..].trim_end_matches("</html>\n").trim_end());
    let place = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part}: {page}"));
    assert!(page.contains(
        "Of 2 statements of the paper tested below, 1 reproduces, 0 reproduce partly, and 1 does not."
    ));
    // Each claim is in its list, with a link to its numbers, before the table of contents.
    let order = [
        "<h2>The question</h2>",
        "<dt>availability, A_K</dt>",
        "Reproduced",
        "P-GNN serves &lt;everyone&gt;: <span class=\"measured\">it does, for ε_D = 6e-6.</span> <a href=\"#table6\">",
        "Not reproduced",
        "FNN serves no one",
        "Beyond the paper",
        "equal power is nearer",
        "Look at &lt;K&gt;. Source: table6. The study price shows more, but was not run",
        "<nav",
        "<section id=\"table3\">",
        "<section id=\"table6\">",
    ];
    assert!(order.is_sorted_by_key(|part| place(part)), "{page}");
    // The page names studies that were not run, with the command, and studies that were run as a trial.
    let missing = "anyk reproduce table1 table2 table4 table5 closed-forms";
    assert!(page.contains(missing) && page.contains("--out &#39;my folder&#39;</code>"), "{page}");
    let undrawn = "availability, sum rates on dense networks, sum rates on D2D fields. To draw them: \
                   <code>anyk reproduce price power-control --out";
    assert!(page.contains(undrawn), "{page}");
    assert!(page.contains("Run with --trial (few cells and steps): table3."));
    assert!(page.contains("<p class=\"about\">a trial: ignore its figures"));
    // The pictures are also written as files.
    assert!(dir.path().join("summary-bandwidth.svg").exists());
    assert!(!dir.path().join("summary-dense-rates.svg").exists());
    // The opposite verdict puts the claim in the other list.
    let mut other = Table { name: "table6".into(), ..sample() };
    other.claims = vec![Claim::paper("P-GNN serves everyone", "it does not", false)];
    write_studies(&folder, "T", &[section("table6", Effort::Usual, vec![other])], None).unwrap();
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    let place = |part: &str| page.find(part).unwrap();
    assert!(page.contains(
        "Of 1 statement of the paper tested below, 0 reproduce, 0 reproduce partly, and 1 does not."
    ));
    assert!(place("Not reproduced") < place("P-GNN serves everyone"));
    assert!(!page.contains("caution\"") && !page.contains("--out"), "{page}");
}
