//! The screens that people share, made by hand from the figures of the design, and what a terminal shows of them.

use stepscope_model::{
    Cell, Class, Grade, LeftOut, Look, Missing, Part, Report, ReportColumn as Column, ReportTable as Table, Role,
    Status, Text, Unit,
};
use stepscope_report::text::{self, ColorMode, TextOptions};

fn on_screen(report: &Report, columns: usize) -> String {
    let shown = text::render(report, TextOptions::screen(columns, ColorMode::None));
    assert!(shown.lines().all(|line| line.chars().count() <= columns), "{shown}");
    shown
}

fn name(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

/// Milliseconds as nanoseconds.
fn ms(milliseconds: f64) -> Cell {
    Cell::Int((milliseconds * 1e6).round() as i64)
}

fn titled(title: &str, table: Table) -> Table {
    Table { title: Some(title.to_owned()), ..table }
}

fn step_time() -> Table {
    let figure = |name: &str, label: &str| Column::named(name).label(label).look(Look::Figure);
    let columns = vec![
        Column::named("each_ns").look(Look::Spark),
        figure("p50_ns", "p50"),
        figure("p90_ns", "p90"),
        figure("p95_ns", "p95"),
        figure("p99_ns", "p99"),
        figure("mean_ns", "mean"),
        figure("range", "min – max"),
    ];
    let row = vec![
        Cell::Numbers(vec![187.9, 175.2, 179.7, 174.6, 182.2, 166.0]),
        ms(175.2),
        ms(187.912),
        ms(187.912),
        ms(187.912),
        ms(177.592),
        name("166.0 – 187.9 ms"),
    ];
    titled("STEP TIME", Table::named("step_time", columns, vec![row]))
}

fn gpu() -> Table {
    let columns = vec![
        Column::named("utilization_ratio"),
        Column::named("with_copies_ratio").from_width(100),
        Column::named("sm_ratio").label("est. SM efficiency").short_label("est. SM eff."),
        Column::named("occupancy_ratio").label("est. occupancy").short_label("est. occup."),
        Column::named("tensor_cores_ratio").look(Look::Figure),
        Column::named("memory_growth_bytes"),
        Column::named("memory_peak_bytes").from_width(100),
    ];
    let row = vec![
        Cell::Float(0.555),
        Cell::Float(0.566),
        Cell::Float(0.547),
        Cell::Float(0.491),
        name("≥ 0.0 %"),
        Cell::Int(2_791_728_742),
        Cell::Null,
    ];
    titled("GPU 0", Table::named("gpu", columns, vec![row]))
}

fn breakdown() -> Table {
    let columns = vec![
        Column::named("class").look(Look::Class),
        Column::named("drawn_ns").look(Look::Length),
        Column::named("mean_ns").label("ms per step").look(Look::Figure),
        Column::named("share_ratio"),
    ];
    let times = [98.591, 1.915, 0.089, 0.0, 2.91, 59.256, 13.67, 1.16];
    let rows = Class::ALL
        .into_iter()
        .zip(times)
        .map(|(class, time)| vec![name(class.as_text()), ms(time), ms(time), Cell::Float(time / 177.592)]);
    titled("STEP BREAKDOWN", Table::named("breakdown", columns, rows.collect()))
}

fn each_step() -> Table {
    let columns = vec![
        Column::named("step").from_width(120),
        Column::named("classes_ns").look(Look::Stack).from_width(120),
        Column::named("duration_ns").label("ms").look(Look::Figure).from_width(120),
    ];
    let row = |step: &str, data: f64, total: f64| {
        let classes = vec![98.6, 1.9, 0.1, 0.0, 2.9, data, 13.0, total - data - 116.5];
        vec![name(step), Cell::Numbers(classes), ms(total)]
    };
    let rows = vec![
        row("#5", 69.3, 187.912),
        row("#6", 56.8, 175.2),
        row("#7", 61.3, 179.7),
        row("#8", 56.2, 174.6),
        row("#9", 63.8, 182.2),
        row("#10", 48.2, 166.0),
    ];
    Table { is_beside: true, ..titled("EACH STEP", Table::named("steps", columns, rows)) }
}

fn top_operators() -> Table {
    let columns = vec![
        Column::named("name").look(Look::Operator),
        Column::named("calls"),
        Column::named("device_self_ns"),
        Column::named("share_ratio"),
        Column::named("host_self_ns"),
    ];
    let rows = OPERATORS[..5].iter().map(|(operator, calls, device_self, share, _, host_self, _)| {
        vec![name(operator), Cell::Int(*calls), ms(*device_self), Cell::Float(*share), ms(*host_self)]
    });
    titled("TOP OPERATORS", Table::named("operators", columns, rows.collect()))
}

fn top_kernels() -> Table {
    let columns = vec![
        Column::named("name").look(Look::Kernel),
        Column::named("count"),
        Column::named("total_ns"),
        Column::named("share_ratio"),
        Column::named("mean_ns"),
    ];
    let row = |kernel: &str, count, total, share, mean_ns: i64| {
        vec![name(kernel), Cell::Int(count), ms(total), Cell::Float(share), Cell::Int(mean_ns)]
    };
    let add = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, \
               at::detail::Array<char*, 3> >(int, at::native::AddFunctor<float>, at::detail::Array<char*, 3>)";
    let rows = vec![
        row("void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int)", 162, 80.76, 0.137, 498_500),
        row(
            "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)",
            156,
            66.47,
            0.112,
            426_100,
        ),
        row("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)", 264, 59.64, 0.101, 225_900),
        row(add, 3_090, 39.81, 0.067, 12_900),
        row(
            "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(int)",
            90,
            36.96,
            0.062,
            410_600,
        ),
    ];
    Table { is_beside: true, ..titled("TOP KERNELS", Table::named("kernels", columns, rows)) }
}

fn findings() -> Table {
    let columns = vec![
        Column::named("severity").look(Look::Severity),
        Column::named("title"),
        Column::named("at_stake").label("at stake per step").look(Look::Figure),
        Column::named("evidence").look(Look::Detail),
    ];
    let row = |severity: &str, title: &str, at_stake: &str, evidence: &str| {
        [severity, title, at_stake, evidence].map(name).to_vec()
    };
    let rows = vec![
        row("high", "The GPU waits for the DataLoader", "59.3 ms", "num_workers=0; loading is 33.4 % of every step"),
        row(
            "medium",
            "Tensor cores idle while eligible",
            "66.7 ms",
            "convolutions run in fp32 on compute capability 7.0",
        ),
        row("medium", "Many small kernels", "16.7 ms", "5,748 of 9,096 device events shorter than their launch call"),
        row("medium", "Copies from pageable memory", "1.92 ms", "12 copies, 115.6 MB at 10.1 GB/s, none hidden"),
    ];
    titled("FINDINGS", Table::named("findings", columns, rows))
}

fn summary() -> Report {
    let head = Text {
        lines: vec![
            "resnet50_num_workers_0 / worker0 / window 1 of 2".into(),
            "Tesla V100-DGXS-32GB, 1 of 4 used · 6 complete steps · 1.066 s · 75,718 events".into(),
        ],
        right: Some(Status::Health(Some(Grade::Good))),
        ..Text::default()
    };
    let health = "75,718 events, 0 lost · 9,096 of 9,096 launches linked · clock 1 µs";
    let parts = vec![
        Part::Text(head),
        Part::Text(Text::headline("A step takes 177.6 ms: the GPU computes 98.6 ms and waits 59.3 ms for data.")),
        Part::Table(step_time()),
        Part::Table(gpu()),
        Part::Table(breakdown()),
        Part::Table(each_step()),
        Part::Table(top_operators()),
        Part::Table(top_kernels()),
        Part::Table(findings()),
        Part::Text(Text::labeled(Role::Health, vec![health.into()])),
        Part::Text(Text::labeled(Role::Next, vec!["stepscope diagnose · stepscope ops · stepscope open".into()])),
    ];
    let missing = |path: &str, label: &str| Missing {
        path: path.to_owned(),
        label: label.to_owned(),
        reason: "memory totals not recorded".into(),
    };
    Report {
        missing: vec![missing("gpu[0].memory_peak_bytes", "memory peak"), missing("gpu[0].not_shown", "not shown")],
        ..Report::new("summary", parts)
    }
}

type Operator = (&'static str, i64, f64, f64, f64, f64, f64);

const OPERATORS: [Operator; 12] = [
    ("aten::cudnn_convolution_backward_weight", 318, 142.46, 0.236, 142.46, 22.80, 40.25),
    ("aten::cudnn_convolution_backward_input", 312, 130.97, 0.217, 130.97, 29.32, 41.45),
    ("aten::cudnn_convolution", 318, 126.62, 0.210, 126.62, 33.12, 57.00),
    ("aten::cudnn_batch_norm_backward", 318, 61.94, 0.103, 61.94, 12.24, 30.46),
    ("aten::cudnn_batch_norm", 318, 34.25, 0.057, 34.25, 19.84, 71.53),
    ("aten::threshold_backward", 294, 27.30, 0.045, 27.30, 6.09, 9.48),
    ("aten::add_", 2_994, 24.10, 0.040, 24.10, 51.01, 78.13),
    ("aten::clamp_min", 294, 17.86, 0.030, 17.86, 7.11, 10.31),
    ("aten::add", 414, 16.04, 0.027, 16.04, 14.33, 19.29),
    ("aten::copy_", 588, 11.49, 0.019, 11.49, 40.26, 52.85),
    ("aten::max_pool2d_with_indices_backward", 6, 3.82, 0.006, 4.68, 0.18, 0.41),
    ("aten::mul_", 966, 2.41, 0.004, 2.41, 20.52, 29.08),
];

fn operators() -> Report {
    let columns = vec![
        Column::named("name").label("operator").look(Look::Operator),
        Column::named("calls"),
        Column::named("device_self_ns").look(Look::Bar(Some(Class::Kernel))),
        Column::named("share_ratio"),
        Column::named("device_total_ns").from_width(100),
        Column::named("host_self_ns"),
        Column::named("host_total_ns").from_width(100),
    ];
    let rows = OPERATORS.iter().map(|(operator, calls, device_self, share, device_total, host_self, host_total)| {
        vec![
            name(operator),
            Cell::Int(*calls),
            ms(*device_self),
            Cell::Float(*share),
            ms(*device_total),
            ms(*host_self),
            ms(*host_total),
        ]
    });
    let table = Table {
        total: Some(vec![
            name("76 operators"),
            Cell::Int(23_616),
            ms(603.56),
            Cell::Float(1.0),
            name(""),
            ms(548.82),
            name(""),
        ]),
        sorted_by: Some("-device_self_ns".to_owned()),
        left_out: LeftOut::Rows(64),
        notes: vec!["sums over 6 steps".into(), "(no operator): 0 ms".into()],
        ..Table::rows(columns, rows.collect())
    };
    Report::new("ops", vec![Part::Table(table)])
}

fn communication() -> Report {
    let collectives = Table::named(
        "rows",
        vec![
            Column::named("collective").label("collective"),
            Column::named("count"),
            Column::named("bytes_per_rank").unit(Unit::MovedBytes),
            Column::named("transfer_ns"),
            Column::named("wait_mean_ns").label("wait, mean"),
            Column::named("algorithm_gb_per_s").label("alg bw"),
            Column::named("bus_gb_per_s").label("bus bw"),
        ],
        vec![vec![
            name("all_reduce"),
            Cell::Int(84),
            Cell::Int(5_440_000_000),
            ms(50.10),
            ms(367.41),
            Cell::Float(108.5),
            Cell::Null,
        ]],
    );
    let figures = [
        (0, 241.19, 191.09, 32, 1_533.54),
        (6, 263.85, 213.75, 25, 1_219.28),
        (2, 413.33, 363.23, 4, 170.81),
        (3, 472.39, 422.29, 13, 14.46),
        (1, 481.31, 431.21, 4, 0.59),
        (7, 481.87, 431.77, 4, 0.41),
        (4, 495.24, 445.14, 2, 0.22),
        (5, 490.93, 440.83, 0, 0.0),
    ];
    let rows = figures.map(|(rank, communication, waits, last, caused)| {
        vec![Cell::Int(rank), ms(communication), ms(waits), name(&format!("{last} of 84")), ms(caused)]
    });
    let ranks = Table {
        total: Some(vec![name("all"), ms(3_340.09), ms(2_939.30), name("84 of 84"), ms(2_939.30)]),
        sorted_by: Some("-caused_ns".to_owned()),
        ..Table::rows(
            vec![
                Column::named("rank"),
                Column::named("communication_ns"),
                Column::named("waits_ns"),
                Column::named("last_to_arrive").look(Look::Figure),
                Column::named("caused_ns").label("makes others wait").look(Look::Bar(None)),
            ],
            rows.to_vec(),
        )
    };
    let head = Text {
        lines: vec![
            "megatron-tp8 · 8 ranks · step 3".into(),
            "NVIDIA A100-SXM4-80GB × 8 · 84 of 84 collectives matched · clocks within 11 µs".into(),
        ],
        right: Some(Status::Good { good: 8, all: 8 }),
        ..Text::default()
    };
    let parts = vec![
        Part::Text(head),
        Part::Text(Text::headline("Eight ranks wait 2.94 s for each other; ranks 0 and 6 cause 94 % of it.")),
        Part::Table(collectives),
        Part::Table(ranks),
    ];
    let missing = Missing {
        path: "rows[0].bus_gb_per_s".to_owned(),
        label: "bus bandwidth".to_owned(),
        reason: "collective metadata not recorded (group size)".into(),
    };
    Report { missing: vec![missing], ..Report::new("comms", parts) }
}

#[test]
fn summary_on_80_columns() {
    insta::assert_snapshot!(on_screen(&summary(), 80), @r"
    resnet50_num_workers_0 / worker0 / window 1 of 2              trace health: good
    Tesla V100-DGXS-32GB, 1 of 4 used · 6 complete steps · 1.066 s · 75,718 events

    A step takes 177.6 ms: the GPU computes 98.6 ms and waits 59.3 ms for data.

    STEP TIME       p50       p90       p95       p99      mean         min – max
      █▄▅▄▆▁   175.2 ms  187.9 ms  187.9 ms  187.9 ms  177.6 ms  166.0 – 187.9 ms

    GPU 0   utilization   est. SM eff.   est. occup.   tensor cores   memory growth
                 55.5 %         54.7 %        49.1 %        ≥ 0.0 %        2.60 GiB
    2 columns did not fit: with_copies_ratio, memory_peak_bytes (-f json has all)

    STEP BREAKDOWN                                              ms per step    share
      █ kernel          █████████████████████████████████████         98.59   55.5 %
      c memcpy          ▊                                              1.92    1.1 %
      s memset          ▏                                             0.089    0.1 %
      ▓ communication                                                     0      0 %
      r runtime         █▏                                             2.91    1.6 %
      ▒ dataloader      ██████████████████████▎                       59.26   33.4 %
      ░ cpu_exec        █████▏                                        13.67    7.7 %
      · other           ▍                                              1.16    0.7 %

    TOP OPERATORS                              calls  device self   share  host self
      aten::cudnn_convolution_backward_weight    318    142.46 ms  23.6 %   22.80 ms
      aten::cudnn_convolution_backward_input     312    130.97 ms  21.7 %   29.32 ms
      aten::cudnn_convolution                    318    126.62 ms  21.0 %   33.12 ms
      aten::cudnn_batch_norm_backward            318     61.94 ms  10.3 %   12.24 ms
      aten::cudnn_batch_norm                     318     34.25 ms   5.7 %   19.84 ms

    TOP KERNELS                                    count     total   share      mean
      dgrad_engine<512, 6, 5, 3, 3, 3, false>        162  80.76 ms  13.7 %  498.5 µs
      wgrad_alg0_engine<128, 6, 7, 3, 3, 5, fals…    156  66.47 ms  11.2 %  426.1 µs
      bn_bw_1C11_kernel_new<512, true, 1>            264  59.64 ms  10.1 %  225.9 µs
      AddFunctor<float> (vectorized_elementwise)   3,090  39.81 ms   6.7 %   12.9 µs
      implicit_convolve_sgemm<1024, 6, 7, 3, 3, …     90  36.96 ms   6.2 %  410.6 µs

    FINDINGS                                                       at stake per step
      !! The GPU waits for the DataLoader                                    59.3 ms
         num_workers=0; loading is 33.4 % of every step
      !  Tensor cores idle while eligible                                    66.7 ms
         convolutions run in fp32 on compute capability 7.0
      !  Many small kernels                                                  16.7 ms
         5,748 of 9,096 device events shorter than their launch call
      !  Copies from pageable memory                                         1.92 ms
         12 copies, 115.6 MB at 10.1 GB/s, none hidden

    health  75,718 events, 0 lost · 9,096 of 9,096 launches linked · clock 1 µs
    null    memory peak –: memory totals not recorded
    next    stepscope diagnose · stepscope ops · stepscope open
    ");
}

#[test]
fn summary_on_120_columns() {
    insta::assert_snapshot!(on_screen(&summary(), 120), @r"
    resnet50_num_workers_0 / worker0 / window 1 of 2                                                      trace health: good
    Tesla V100-DGXS-32GB, 1 of 4 used · 6 complete steps · 1.066 s · 75,718 events

    A step takes 177.6 ms: the GPU computes 98.6 ms and waits 59.3 ms for data.

    STEP TIME        p50        p90        p95        p99       mean          min – max
      █▄▅▄▆▁    175.2 ms   187.9 ms   187.9 ms   187.9 ms   177.6 ms   166.0 – 187.9 ms

    GPU 0   utilization   with copies   est. SM efficiency   est. occupancy   tensor cores   memory growth   memory peak
                 55.5 %        56.6 %               54.7 %           49.1 %        ≥ 0.0 %        2.60 GiB             –

    STEP BREAKDOWN                                     ms per step    share    EACH STEP                                  ms
      █ kernel          ████████████████████████████         98.59   55.5 %      #5    ███████████████c▒▒▒▒▒▒▒▒▒▒▒░░   187.9
      c memcpy          ▌                                     1.92    1.1 %      #6    ███████████████c▒▒▒▒▒▒▒▒▒░░     175.2
      s memset          ▏                                    0.089    0.1 %      #7    ███████████████c▒▒▒▒▒▒▒▒▒░░·    179.7
      ▓ communication                                            0      0 %      #8    ███████████████c▒▒▒▒▒▒▒▒▒░░     174.6
      r runtime         ▉                                     2.91    1.6 %      #9    ███████████████c▒▒▒▒▒▒▒▒▒▒░░    182.2
      ▒ dataloader      ████████████████▉                    59.26   33.4 %      #10   ███████████████c▒▒▒▒▒▒▒░░·      166.0
      ░ cpu_exec        ███▉                                 13.67    7.7 %
      · other           ▍                                     1.16    0.7 %

    TOP OPERATORS                   calls  device self   share    TOP KERNELS                        count     total   share
      aten::cudnn_co…ckward_weight    318    142.46 ms  23.6 %      dgrad_engine<512, 6, 5, 3, 3, …    162  80.76 ms  13.7 %
      aten::cudnn_co…ackward_input    312    130.97 ms  21.7 %      wgrad_alg0_engine<128, 6, 7, 3…    156  66.47 ms  11.2 %
      aten::cudnn_convolution         318    126.62 ms  21.0 %      bn_bw_1C11_kernel_new<512, tru…    264  59.64 ms  10.1 %
      aten::cudnn_ba…norm_backward    318     61.94 ms  10.3 %      AddFunctor<float> (vectorized_…  3,090  39.81 ms   6.7 %
      aten::cudnn_batch_norm          318     34.25 ms   5.7 %      implicit_convolve_sgemm<1024, …     90  36.96 ms   6.2 %
    1 column did not fit: host_self_ns (-f json has all)          1 column did not fit: mean_ns (-f json has all)

    FINDINGS                                                                                               at stake per step
      !! The GPU waits for the DataLoader    num_workers=0; loading is 33.4 % of every step                          59.3 ms
      !  Tensor cores idle while eligible    convolutions run in fp32 on compute capability 7.0                      66.7 ms
      !  Many small kernels                  5,748 of 9,096 device events shorter than their launch call             16.7 ms
      !  Copies from pageable memory         12 copies, 115.6 MB at 10.1 GB/s, none hidden                           1.92 ms

    health  75,718 events, 0 lost · 9,096 of 9,096 launches linked · clock 1 µs
    null    memory peak –: memory totals not recorded
    next    stepscope diagnose · stepscope ops · stepscope open
    ");
}

#[test]
fn operators_on_80_columns() {
    insta::assert_snapshot!(on_screen(&operators(), 80), @r"
    operator                                 calls  device self ↓   share  host self
    aten::cudnn_convolution_backward_weight    318      142.46 ms  23.6 %   22.80 ms
    aten::cudnn_convolution_backward_input     312      130.97 ms  21.7 %   29.32 ms
    aten::cudnn_convolution                    318      126.62 ms  21.0 %   33.12 ms
    aten::cudnn_batch_norm_backward            318       61.94 ms  10.3 %   12.24 ms
    aten::cudnn_batch_norm                     318       34.25 ms   5.7 %   19.84 ms
    aten::threshold_backward                   294       27.30 ms   4.5 %    6.09 ms
    aten::add_                               2,994       24.10 ms   4.0 %   51.01 ms
    aten::clamp_min                            294       17.86 ms   3.0 %    7.11 ms
    aten::add                                  414       16.04 ms   2.7 %   14.33 ms
    aten::copy_                                588       11.49 ms   1.9 %   40.26 ms
    aten::max_pool2d_with_indices_backward       6        3.82 ms   0.6 %    0.18 ms
    aten::mul_                                 966        2.41 ms   0.4 %   20.52 ms
    ────────────────────────────────────────────────────────────────────────────────
    76 operators                            23,616      603.56 ms 100.0 %  548.82 ms
    12 of 76 shown (--limit 0 shows all) · sums over 6 steps · (no operator): 0 ms
    2 columns did not fit: device_total_ns, host_total_ns (--columns picks, -f csv
    has all)
    ");
}

#[test]
fn operators_on_120_columns() {
    insta::assert_snapshot!(on_screen(&operators(), 120), @r"
    operator                                  calls           device self ↓    share   device total   host self   host total
    aten::cudnn_convolution_backward_weight     318   █████████   142.46 ms   23.6 %      142.46 ms    22.80 ms     40.25 ms
    aten::cudnn_convolution_backward_input      312   ████████▎   130.97 ms   21.7 %      130.97 ms    29.32 ms     41.45 ms
    aten::cudnn_convolution                     318   ████████    126.62 ms   21.0 %      126.62 ms    33.12 ms     57.00 ms
    aten::cudnn_batch_norm_backward             318   ███▉         61.94 ms   10.3 %       61.94 ms    12.24 ms     30.46 ms
    aten::cudnn_batch_norm                      318   ██▏          34.25 ms    5.7 %       34.25 ms    19.84 ms     71.53 ms
    aten::threshold_backward                    294   █▊           27.30 ms    4.5 %       27.30 ms     6.09 ms      9.48 ms
    aten::add_                                2,994   █▌           24.10 ms    4.0 %       24.10 ms    51.01 ms     78.13 ms
    aten::clamp_min                             294   █▏           17.86 ms    3.0 %       17.86 ms     7.11 ms     10.31 ms
    aten::add                                   414   █            16.04 ms    2.7 %       16.04 ms    14.33 ms     19.29 ms
    aten::copy_                                 588   ▊            11.49 ms    1.9 %       11.49 ms    40.26 ms     52.85 ms
    aten::max_pool2d_with_indices_backward        6   ▎             3.82 ms    0.6 %        4.68 ms     0.18 ms      0.41 ms
    aten::mul_                                  966   ▏             2.41 ms    0.4 %        2.41 ms    20.52 ms     29.08 ms
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    76 operators                             23,616               603.56 ms  100.0 %                  548.82 ms
    12 of 76 shown (--limit 0 shows all) · sums over 6 steps · (no operator): 0 ms
    ");
}

#[test]
fn communication_on_80_columns() {
    insta::assert_snapshot!(on_screen(&communication(), 80), @r"
    megatron-tp8 · 8 ranks · step 3                     trace health: good in 8 of 8
    NVIDIA A100-SXM4-80GB × 8 · 84 of 84 collectives matched · clocks within 11 µs

    Eight ranks wait 2.94 s for each other; ranks 0 and 6 cause 94 % of it.

    collective  count  bytes per rank  transfer  wait, mean      alg bw  bus bw
    all_reduce     84         5.44 GB  50.10 ms   367.41 ms  108.5 GB/s       –

    rank   communication       waits   last to arrive            makes others wait ↓
    0          241.19 ms   191.09 ms         32 of 84   ██████████████   1,533.54 ms
    6          263.85 ms   213.75 ms         25 of 84   ███████████▏     1,219.28 ms
    2          413.33 ms   363.23 ms          4 of 84   █▌                 170.81 ms
    3          472.39 ms   422.29 ms         13 of 84   ▏                   14.46 ms
    1          481.31 ms   431.21 ms          4 of 84   ▏                    0.59 ms
    7          481.87 ms   431.77 ms          4 of 84   ▏                    0.41 ms
    4          495.24 ms   445.14 ms          2 of 84   ▏                    0.22 ms
    5          490.93 ms   440.83 ms          0 of 84                           0 ms
    ────────────────────────────────────────────────────────────────────────────────
    all      3,340.09 ms 2,939.30 ms         84 of 84                    2,939.30 ms

    null  bus bandwidth –: collective metadata not recorded (group size)
    ");
}

#[test]
fn a_finding_begins_with_where_it_was_found() {
    let head = Text {
        lines: vec![
            "resnet50_num_workers_0 / worker0 / window 1 of 2".into(),
            "4 findings · 6 steps of 177.6 ms · rules of Stepscope 0.1.0".into(),
        ],
        right: Some(Status::Health(Some(Grade::Good))),
        ..Text::default()
    };
    let finding =
        Text { right: Some(Status::AtStake(59.3e6)), ..Text::headline("!! The GPU waits for the DataLoader") };
    let proved = Text { right: Some(Status::Saving(31.1e6)), ..Text::headline("!  Copies are slow") };
    let report = Report::new("diagnose", vec![Part::Text(head), Part::Text(finding), Part::Text(proved)]);
    insta::assert_snapshot!(on_screen(&report, 80), @r"
    resnet50_num_workers_0 / worker0 / window 1 of 2              trace health: good
    4 findings · 6 steps of 177.6 ms · rules of Stepscope 0.1.0

    !! The GPU waits for the DataLoader                   59.30 ms per step at stake

    !  Copies are slow                                       saves 31.10 ms per step
    ");
}

#[test]
fn a_pipe_has_no_pictures() {
    insta::assert_snapshot!(text::render(&summary(), TextOptions::default()), @r"
    resnet50_num_workers_0 / worker0 / window 1 of 2                                                      trace health: good
    Tesla V100-DGXS-32GB, 1 of 4 used · 6 complete steps · 1.066 s · 75,718 events

    A step takes 177.6 ms: the GPU computes 98.6 ms and waits 59.3 ms for data.

    STEP TIME        p50        p90        p95        p99       mean          min – max
                175.2 ms   187.9 ms   187.9 ms   187.9 ms   177.6 ms   166.0 – 187.9 ms

    GPU 0   utilization   with copies   est. SM efficiency   est. occupancy   tensor cores   memory growth   memory peak
                 55.5 %        56.6 %               54.7 %           49.1 %        ≥ 0.0 %        2.60 GiB             –

    STEP BREAKDOWN      ms per step    share    EACH STEP      ms
      █ kernel                98.59   55.5 %      #5        187.9
      c memcpy                 1.92    1.1 %      #6        175.2
      s memset                0.089    0.1 %      #7        179.7
      ▓ communication             0      0 %      #8        174.6
      r runtime                2.91    1.6 %      #9        182.2
      ▒ dataloader            59.26   33.4 %      #10       166.0
      ░ cpu_exec              13.67    7.7 %
      · other                  1.16    0.7 %

    TOP OPERATORS                   calls  device self   share    TOP KERNELS                        count     total   share
      aten::cudnn_co…ckward_weight    318    142.46 ms  23.6 %      dgrad_engine<512, 6, 5, 3, 3, …    162  80.76 ms  13.7 %
      aten::cudnn_co…ackward_input    312    130.97 ms  21.7 %      wgrad_alg0_engine<128, 6, 7, 3…    156  66.47 ms  11.2 %
      aten::cudnn_convolution         318    126.62 ms  21.0 %      bn_bw_1C11_kernel_new<512, tru…    264  59.64 ms  10.1 %
      aten::cudnn_ba…norm_backward    318     61.94 ms  10.3 %      AddFunctor<float> (vectorized_…  3,090  39.81 ms   6.7 %
      aten::cudnn_batch_norm          318     34.25 ms   5.7 %      implicit_convolve_sgemm<1024, …     90  36.96 ms   6.2 %
    1 column did not fit: host_self_ns (-f json has all)          1 column did not fit: mean_ns (-f json has all)

    FINDINGS                                                                                               at stake per step
      !! The GPU waits for the DataLoader    num_workers=0; loading is 33.4 % of every step                          59.3 ms
      !  Tensor cores idle while eligible    convolutions run in fp32 on compute capability 7.0                      66.7 ms
      !  Many small kernels                  5,748 of 9,096 device events shorter than their launch call             16.7 ms
      !  Copies from pageable memory         12 copies, 115.6 MB at 10.1 GB/s, none hidden                           1.92 ms

    health  75,718 events, 0 lost · 9,096 of 9,096 launches linked · clock 1 µs
    null    memory peak –: memory totals not recorded
    next    stepscope diagnose · stepscope ops · stepscope open
    ");
}

#[test]
fn without_utf_8_signs_are_spelled() {
    let options = TextOptions { ascii: true, ..TextOptions::screen(80, ColorMode::None) };
    let parts = vec![
        Part::Table(step_time()),
        Part::Table(breakdown()),
        Part::Table(titled("EACH STEP", Table::named("steps", each_step().columns, each_step().rows[..2].to_vec()))),
        Part::Table(top_kernels()),
        Part::Text(Text::labeled(Role::Null, vec!["memory peak –: memory totals not recorded…".into()])),
    ];
    let options = TextOptions { width: 120, ..options };
    let shown = text::render(&Report::new("test", parts), options);
    assert!(shown.is_ascii(), "{shown}");
    insta::assert_snapshot!(shown, @r"
    STEP TIME        p50        p90        p95        p99       mean          min - max
      #-=-+_    175.2 ms   187.9 ms   187.9 ms   187.9 ms   177.6 ms   166.0 - 187.9 ms

    STEP BREAKDOWN                                                                                      ms per step    share
      # kernel          #############################################################################         98.59   55.5 %
      c memcpy          #                                                                                      1.92    1.1 %
      s memset          #                                                                                     0.089    0.1 %
      = communication                                                                                             0      0 %
      r runtime         ##                                                                                     2.91    1.6 %
      % dataloader      ##############################################                                        59.26   33.4 %
      + cpu_exec        ###########                                                                           13.67    7.7 %
      . other           #                                                                                      1.16    0.7 %

    EACH STEP                                               ms    TOP KERNELS                        count     total   share
      #5   #######################r%%%%%%%%%%%%%%%%+++   187.9      dgrad_engine<512, 6, 5, 3, 3...    162  80.76 ms  13.7 %
      #6   #######################r%%%%%%%%%%%%%+++      175.2      wgrad_alg0_engine<128, 6, 7,...    156  66.47 ms  11.2 %
                                                                    bn_bw_1C11_kernel_new<512, t...    264  59.64 ms  10.1 %
                                                                    AddFunctor<float> (vectorize...  3,090  39.81 ms   6.7 %
                                                                    implicit_convolve_sgemm<1024...     90  36.96 ms   6.2 %
                                                                  1 column did not fit: mean_ns (-f json has all)

    null  memory peak -: memory totals not recorded...
    ");
}

#[test]
fn colors_of_a_dark_screen() {
    let mut table = breakdown();
    table.rows = vec![table.rows.remove(0), table.rows.remove(2)];
    let mut finding = findings();
    finding.rows.truncate(1);
    let head = Text { right: Some(Status::Health(Some(Grade::Poor))), ..Text::headline("A step takes 177.6 ms.") };
    let report = Report::new("test", vec![Part::Text(head), Part::Table(table), Part::Table(finding)]);
    let shown = text::render(&report, TextOptions::screen(80, ColorMode::Dark256));
    let light = text::render(&report, TextOptions::screen(80, ColorMode::Light256));
    assert!(light.contains("\u{1b}[38;5;25m█\u{1b}[0m kernel"), "{light}");
    insta::assert_snapshot!(shown.replace('\u{1b}', "␛"), @r"
    ␛[1mA step takes 177.6 ms.␛[0m                                        trace health: ␛[38;5;210mpoor␛[0m

    ␛[1mSTEP BREAKDOWN␛[0m                                              ms per step    share
      ␛[38;5;69m█␛[0m kernel          ␛[38;5;69m█████████████████████████████████████␛[0m         98.59   55.5 ␛[38;5;245m%␛[0m
      ␛[38;5;163m█␛[0m communication                                                     ␛[38;5;245m0␛[0m      ␛[38;5;245m0 %␛[0m

    ␛[1mFINDINGS␛[0m                                                       at stake per step
      ␛[38;5;210m!!␛[0m The GPU waits for the DataLoader                                    ␛[38;5;210m59.3 ms␛[0m
         ␛[38;5;245mnum_workers=0; loading is 33.4 % of every step␛[0m
    ");
}
