//! Charts of each kind that have all that can be drawn, and parts of charts.

use crate::report::chart::{Chart, ChartKind, ChartLine, LineOrigin};

/// Words that HTML, XML, CSS or kuva would read as their own.
pub const HOSTILE: &str = "</svg></style><script>alert(1)</script>]]>--><!--\" onload='x' & $a$ \\$ \
    \n\r\t\u{1b}[2J\0\u{202e}\u{ffff}";

/// A measured line.
pub fn line(label: &str, values: &[f64]) -> ChartLine {
    let values = values.iter().copied().map(Some).collect();
    ChartLine { label: label.into(), values, ..ChartLine::default() }
}

/// Its intervals reach this part of each value below and above it.
pub fn with_intervals(line: ChartLine, part: f64) -> ChartLine {
    let ends = |factor: f64| line.values.iter().map(|it| it.map(|it| it * factor)).collect();
    ChartLine { lows: ends(1.0 - part), highs: ends(1.0 + part), ..line }
}

/// Lines over three sizes.
pub fn sizes(lines: Vec<ChartLine>) -> Chart {
    Chart {
        title: "bandwidth against request_size".into(),
        x_label: "request_size".into(),
        x_kind: "bytes",
        is_log: true,
        y_label: "MB/s".into(),
        xs: vec![4096.0, 65_536.0, 1_048_576.0],
        lines,
        ..Chart::default()
    }
}

/// Lines over three names.
pub fn names(kind: ChartKind, lines: Vec<ChartLine>) -> Chart {
    Chart {
        kind,
        title: "engines".into(),
        x_label: "engine".into(),
        y_label: "s".into(),
        x_names: ["uring", "threads", "inline"].map(String::from).to_vec(),
        lines,
        ..Chart::default()
    }
}

/// Charts with their names.
pub fn examples() -> Vec<(&'static str, Chart)> {
    [lines(), bars(), steps(), vec![("heat", heat())], odd()].concat()
}

fn line_from(origin: LineOrigin, label: &str, values: &[f64]) -> ChartLine {
    ChartLine { origin, ..line(label, values) }
}

fn pump() -> ChartLine {
    with_intervals(line("command pump, engine uring", &[310.0, 920.0, 1450.0]), 0.08)
}

fn cp() -> ChartLine {
    with_intervals(line("command cp", &[180.0, 700.0, 1490.0]), 0.05)
}

fn lines() -> Vec<(&'static str, Chart)> {
    let origins = sizes(vec![
        pump(),
        cp(),
        line_from(LineOrigin::Published, "command cp", &[200.0, 640.0, 1300.0]),
        line_from(LineOrigin::Formula, "1 / (a + b / x)", &[250.0, 800.0, 1400.0]),
        line_from(LineOrigin::Forecast, "command pump, engine uring", &[400.0, 1000.0, 1500.0]),
    ]);
    let many = (0..40_u32).map(|at| {
        let label = format!("command number {at}, engine uring, depth {}", at % 7);
        line(&label, &[1.0, 30.0, 60.0].map(|value| value + f64::from(at) * (30.0 - value) / 20.0))
    });
    let wave = |height: f64| -> Vec<f64> {
        (0..9000).map(|at| (f64::from(at) / 300.0).sin() * height + height).collect()
    };
    let long = Chart {
        title: "congestion window over time".into(),
        x_label: "s".into(),
        x_kind: "seconds",
        y_label: "segments".into(),
        xs: (0..9000).map(|at| f64::from(at) * 0.005).collect(),
        lines: vec![line("10.0.0.1:4000 > 10.0.0.2:5000", &wave(40.0)), line("10.0.0.1:4000", &wave(25.0))],
        ..Chart::default()
    };
    let note = "All runs of one day, with the soaker off; the file system was new and empty, and the page cache was \
                dropped before each run of each cell.";
    let log = Chart {
        y_is_log: true,
        notes: vec![note.into()],
        left_out: 3,
        ..sizes(vec![
            with_intervals(line("pump", &[0.004, 1.0, 250.0]), 0.3),
            line("zero", &[0.0, 2.0, 30.0]),
        ])
    };
    let change = with_intervals(line("change", &[-12.0, 3.0, 8.0]), 0.2);
    let negative = Chart { y_label: "change, %".into(), ..sizes(vec![change]) };
    let many = sizes(many.collect());
    vec![("lines", origins), ("many", many), ("long", long), ("log", log), ("negative", negative)]
}

fn bars() -> Vec<(&'static str, Chart)> {
    let lines = || vec![pump(), cp(), line_from(LineOrigin::Published, "a table", &[300.0, 500.0, 1200.0])];
    let parts = vec![
        line("waiting for the source", &[1.0, 2.0, 3.0]),
        line("computing", &[2.0, 1.0, 0.5]),
        line("waiting for the sink", &[0.4, 0.2, 1.5]),
    ];
    let slanted = Chart {
        x_names: (0..14).map(|at| format!("file system number {at}")).collect(),
        lines: vec![line("", &(0..14).map(f64::from).collect::<Vec<_>>())],
        ..names(ChartKind::Bars, Vec::new())
    };
    vec![
        ("bars", names(ChartKind::Bars, lines())),
        ("bars_log", Chart { y_is_log: true, ..names(ChartKind::Bars, lines()) }),
        ("parts", names(ChartKind::Parts, parts)),
        ("slanted", slanted),
    ]
}

fn heat() -> Chart {
    let rows = (0..5_i32).map(|row| {
        let value = f64::from(row);
        line(&format!("depth {}", 1 << row), &[1.0 + value, 10.0 * value + 0.5, 37.25])
    });
    let mut heat = names(ChartKind::Heat, rows.collect());
    heat.lines[2].values[1] = None;
    heat
}

fn steps() -> Vec<(&'static str, Chart)> {
    let histogram = Chart {
        kind: ChartKind::Histogram,
        title: "latency of a request".into(),
        x_label: "µs".into(),
        x_kind: "number",
        y_label: "requests".into(),
        xs: (0..8).map(|at| f64::from(at) * 10.0).collect(),
        lines: vec![
            line("uring", &[0.0, 3.0, 40.0, 90.0, 60.0, 20.0, 12.0, 5.0]),
            line("threads", &[0.0, 0.0, 10.0, 50.0, 80.0, 40.0, 30.0, 15.0]),
        ],
        ..Chart::default()
    };
    let distribution = Chart {
        kind: ChartKind::Distribution,
        title: "time of a copy".into(),
        is_log: true,
        y_label: "part of the runs".into(),
        x_label: "s".into(),
        xs: vec![0.01, 0.02, 0.05, 0.2, 0.9, 4.0],
        lines: vec![
            line("pump", &[0.1, 0.4, 0.7, 0.9, 0.95, 1.0]),
            line("cp", &[0.0, 0.1, 0.3, 0.8, 0.9, 1.0]),
        ],
        ..Chart::default()
    };
    vec![("histogram", histogram), ("distribution", distribution)]
}

fn odd() -> Vec<(&'static str, Chart)> {
    let one = sizes(vec![with_intervals(line("one", &[5.0]), 0.1)]);
    let hostile = Chart {
        title: HOSTILE.repeat(3),
        x_label: HOSTILE.into(),
        y_label: HOSTILE.into(),
        notes: vec![HOSTILE.repeat(20)],
        ..sizes(vec![line(&"long ".repeat(2000), &[1.0, 2.0, 3.0]), line(HOSTILE, &[3.0, 2.0, 1.0])])
    };
    vec![
        ("point", Chart { xs: vec![1.0], x_kind: "number", is_log: false, ..one }),
        ("empty", sizes(Vec::new())),
        ("hostile", hostile),
    ]
}
