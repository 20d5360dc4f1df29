// Draws those charts of the page that have places, from the data in it, over their still pictures. Labels are set as text.
(() => {
  "use strict";
  const charts = JSON.parse(document.getElementById("charts").textContent);
  // As in the pictures (svg/marks.rs): Okabe and Ito's, which colour-blind readers can distinguish.
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const colours = [dark ? "#2f8fd0" : "#0072b2", "#d55e00", "#009e73", "#cc79a7", dark ? "#f5f5f5" : "#000000", "#e69f00", "#56b4e9"];
  const [paper, ink, grid] = dark ? ["#1b1b1b", "#e4e4e4", "#3a3a3a"] : ["#ffffff", "#1f1f1f", "#e3e3e3"];
  const drawable = ["lines", "histogram", "distribution"];
  const strokes = { measured: [2, []], published: [1.8, [8, 4]], formula: [1, []], forecast: [2, [2, 4]] };
  const figures = (value) => (value == null ? "–" : String(Number(value.toPrecision(4))));

  const bytes = (value) => {
    const units = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];
    const [unit, size] = units.find(([, size]) => value >= size) || ["B", 1];
    return `${figures(value / size)} ${unit}`;
  };

  const ends = (chart, name) => chart.lines.flatMap((line) => line[name] || []).filter((it) => it != null);

  // The upright axis begins at 0, or below if a figure does, and holds the intervals.
  const upright = (chart) => {
    const reach = (names, start, pick) =>
      names.flatMap((name) => ends(chart, name)).reduce((one, other) => pick(one, other), start);
    const low = reach(["lows"], 0, Math.min);
    const high = reach(["highs"], 0, Math.max);
    return (_, least, most) => [Math.min(low, least || 0), (Math.max(high, most || 0) || 1) * 1.05];
  };

  // Measured lines first; what has the name of another line has its colour.
  const colour = (chart, at) => {
    const measured = chart.lines.filter((line) => line.origin === "measured");
    const labels = [...measured, ...chart.lines.filter((line) => line.origin !== "measured")].map((line) => line.label);
    const own = chart.lines[at].origin === "measured" ? measured.indexOf(chart.lines[at]) : [...new Set(labels)].indexOf(chart.lines[at].label);
    return colours[own % colours.length];
  };

  const intervals = (chart) => (plot) => {
    const pen = plot.ctx;
    pen.save();
    pen.beginPath();
    pen.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
    pen.clip();
    chart.lines.forEach((line, at) => {
      if (!line.lows || !plot.series[at + 1].show) {
        return;
      }
      pen.strokeStyle = colour(chart, at);
      pen.lineWidth = devicePixelRatio;
      pen.beginPath();
      line.lows.forEach((low, place) => {
        if (low == null || line.highs[place] == null) {
          return;
        }
        const x = plot.valToPos(chart.xs[place], "x", true);
        pen.moveTo(x, plot.valToPos(low, "y", true));
        pen.lineTo(x, plot.valToPos(line.highs[place], "y", true));
      });
      pen.stroke();
    });
    pen.restore();
  };

  const options = (chart, width) => {
    const words = chart.x_kind === "bytes" ? bytes : figures;
    const few = chart.xs.length <= 16;
    const across = {
      label: chart.x_label,
      values: (_, splits) => splits.map((split) => (split == null ? "" : words(split))),
    };
    if (few) {
      across.splits = () => chart.xs;
      across.filter = (_, splits) => splits;
    }
    const padded = chart.is_log
      ? (_, least, most) => [least / 1.2, most * 1.2]
      : (_, least, most) => [least - (most - least) * 0.02, most + (most - least) * 0.02];
    const steps = chart.kind !== "lines";
    const line = ({ label, origin }, at) => ({
      label: origin === "measured" ? label : `${label} (${origin})`,
      stroke: colour(chart, at),
      width: strokes[origin][0],
      dash: strokes[origin][1],
      spanGaps: true,
      points: { show: few && !steps && origin !== "formula", size: 7, fill: origin === "measured" ? colour(chart, at) : paper },
      ...(steps ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
      value: (_, value) => figures(value),
    });
    const axis = { stroke: ink, grid: { stroke: grid }, ticks: { stroke: grid } };
    return {
      width,
      height: 340,
      scales: {
        x: { time: false, range: padded, ...(chart.is_log ? { distr: 3, log: 2 } : {}) },
        y: chart.y_is_log ? { distr: 3, log: 10 } : { range: upright(chart) },
      },
      axes: [{ ...axis, ...across }, { ...axis, label: chart.y_label, size: 90, labelGap: 8 }],
      series: [{ label: chart.x_label, value: (_, value) => (value == null ? "–" : words(value)) }, ...chart.lines.map(line)],
      hooks: { draw: [intervals(chart)] },
    };
  };

  const plots = charts.flatMap((chart, at) => {
    if (!drawable.includes(chart.kind) || chart.xs.length < 2) {
      return [];
    }
    const place = document.getElementById(`chart-${at}`);
    const data = [chart.xs, ...chart.lines.map((line) => line.values)];
    // A screen reader reads the picture, and a printer prints it.
    place.firstElementChild.classList.add("still");
    return [[place, new uPlot(options(chart, place.clientWidth || 800), data, place)]];
  });
  addEventListener("resize", () => {
    plots.forEach(([place, plot]) => plot.setSize({ width: place.clientWidth || 800, height: 340 }));
  });
  // Drawing is put off to the end of the task.
  setTimeout(() => {
    document.documentElement.dataset.drawn = String(plots.length);
  }, 0);
})();
