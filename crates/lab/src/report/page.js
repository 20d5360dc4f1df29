// Draws the charts of the page from the data that stand in it. Labels are set as text.
(() => {
  "use strict";
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const colour = (at) => `hsl(${Math.round(210 + at * 137.5) % 360} 70% 38%)`;
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

  const intervals = (chart) => (plot) => {
    const pen = plot.ctx;
    pen.save();
    chart.lines.forEach((line, at) => {
      if (!line.lows || !plot.series[at + 1].show) {
        return;
      }
      pen.strokeStyle = colour(at);
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
    const line = ({ label }, at) => ({
      label,
      stroke: colour(at),
      width: 1.5,
      spanGaps: true,
      points: { show: few, size: 6 },
      value: (_, value) => figures(value),
    });
    return {
      width,
      height: 340,
      scales: {
        x: { time: false, range: padded, ...(chart.is_log ? { distr: 3, log: 2 } : {}) },
        y: { range: upright(chart) },
      },
      axes: [across, { label: chart.y_label, size: 90, labelGap: 8 }],
      series: [{ label: chart.x_label, value: (_, value) => (value == null ? "–" : words(value)) }, ...chart.lines.map(line)],
      hooks: { draw: [intervals(chart)] },
    };
  };

  const plots = charts.map((chart, at) => {
    const place = document.getElementById(`chart-${at}`);
    const data = [chart.xs, ...chart.lines.map((line) => line.values)];
    return [place, new uPlot(options(chart, place.clientWidth || 800), data, place)];
  });
  addEventListener("resize", () => {
    plots.forEach(([place, plot]) => plot.setSize({ width: place.clientWidth || 800, height: 340 }));
  });
  // Drawing is put off to the end of the task.
  setTimeout(() => {
    document.documentElement.dataset.drawn = String(plots.length);
  }, 0);
})();
