// Hands the charts in #data to plotly.js, and keeps their time axes together.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const root = document.documentElement;
  const figures = document.getElementById('figures');
  const reset = document.getElementById('reset');
  const shown = { stage: data.first, view: 'all', range: null };
  let plots = [];

  // --- colours -------------------------------------------------------------------------------

  const dark = matchMedia('(prefers-color-scheme: dark)');
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const setTheme = (theme) => { root.dataset.theme = theme; };

  const fade = (hex, share) => {
    const part = (at) => parseInt(hex.slice(at, at + 2), 16);
    return `rgba(${part(1)}, ${part(3)}, ${part(5)}, ${share})`;
  };

  // --- from our charts to plotly's -----------------------------------------------------------

  const number = (value) => value.toLocaleString('en');
  // More names do not fit an axis.
  const MOST_NAMES = 30;

  const axis = ({ title, scale, names }, lines = []) => {
    const common = {
      title: { text: title, font: { size: 12 } }, automargin: true, gridcolor: colour('line'),
      zerolinecolor: colour('line'), linecolor: colour('line'), tickfont: { size: 11 },
    };
    if (names) {
      const told = [...names.keys()].filter((at) => at % Math.ceil(names.length / MOST_NAMES) === 0);
      return { ...common, tickvals: told, ticktext: told.map((at) => names[at]) };
    }
    // Where few values were chosen, these are the ticks.
    const chosen = [...new Set(lines.flatMap((line) => line.x))];
    if (scale === 'log' && chosen.length > 0 && chosen.length <= 12) {
      return { ...common, type: 'log', tickvals: chosen, ticktext: chosen.map(number) };
    }
    if (scale === 'linear') return { ...common, rangemode: 'tozero', tickformat: ',~r' };
    if (scale === 'log') {
      return { ...common, type: 'log', dtick: 'D2', tickformat: ',~r', exponentformat: 'none' };
    }
    if (scale === 'nines') {
      const nines = [1, 2, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7];
      const text = ['0', '50', '90', '99', '99.9', '99.99', '99.999', '99.9999', '99.99999'];
      return { ...common, type: 'log', tickvals: nines, ticktext: text };
    }
    return { ...common, hoverformat: ',.1f' };
  };

  const lines = (chart) => chart.lines.map((line) => ({
    type: 'scatter',
    mode: line.x.length > 60 || chart.x.scale === 'nines' ? 'lines' : 'lines+markers',
    name: line.name,
    x: line.x,
    y: line.y,
    visible: line.hidden ? 'legendonly' : true,
    customdata: chart.x.scale === 'nines'
      ? line.x.map((x) => `${Number((100 - 100 / x).toPrecision(8))} %`) : undefined,
    line: {
      color: colour(`tone-${line.tone % 10}`), width: line.stroke === 'solid' ? 2 : 1.5,
      dash: line.stroke,
    },
    marker: { size: 5 },
    fill: chart.kind === 'errors' ? 'tozeroy' : 'none',
    fillcolor: fade(colour(`tone-${line.tone % 10}`), 0.12),
    hovertemplate: chart.x.scale === 'nines'
      ? '%{customdata}: %{y:,.3~f} ms' : `%{y:,.4~r} ${chart.kind === 'latency' ? 'ms' : '/s'}`,
  }));

  const shades = () => (root.dataset.theme === 'dark'
    ? [[0, '#1d2b4f'], [0.4, '#2f6fb3'], [0.75, '#58c2a9'], [1, '#fdf6b2']]
    : [[0, '#dbe7f5'], [0.4, '#6fa8dc'], [0.75, '#2a5fa5'], [1, '#2a0f4a']]);

  const bar = (title) => ({
    orientation: 'h', thickness: 9, len: 0.55, x: 1, xanchor: 'right', y: 1.01, yanchor: 'bottom',
    outlinewidth: 0, tickangle: 0, tickfont: { size: 11 },
    title: { text: title, side: 'top', font: { size: 11 } },
  });

  // Rates of rows over time, such as those of agents.
  const rows = ({ map: { rates, edges, rows: names } }) => [{
    type: 'heatmap',
    x: edges,
    y: [...rates.keys()],
    z: rates,
    customdata: rates.map((row, at) => row.map(() => names[at])),
    hovertemplate: '%{customdata}, around %{x:,.1f} s<br>%{z:,.4~r} /s<extra></extra>',
    hoverongaps: false,
    colorscale: shades(),
    zmin: 0,
    zmax: Math.max(1e-9, ...rates.flat()),
    ygap: rates.length > 60 ? 0 : 1,
    colorbar: { ...bar('documents per second'), nticks: 5, tickformat: ',~r' },
  }];

  const map = ({ x, y, map: { rates } }) => [{
    type: 'heatmap',
    z: rates,
    text: rates.map((row) => row.map((rate) => (rate === null ? '' : number(Math.round(rate))))),
    texttemplate: '%{text}',
    customdata: y.names.map((one) => x.names.map((other) => (
      `${y.title}=${one} ${x.title}=${other}`))),
    hovertemplate: '%{customdata}<br>%{z:,.4~r} /s<extra></extra>',
    hoverongaps: false,
    colorscale: shades(),
    zmin: 0,
    zmax: Math.max(1e-9, ...rates.flat()),
    xgap: 1,
    ygap: 1,
    colorbar: { ...bar('documents per second'), nticks: 5, tickformat: ',~r' },
  }];

  const cells = ({ cells: { x, y, counts } }) => {
    const most = Math.max(1, ...counts.flat());
    const powers = [...Array(Math.ceil(Math.log10(most)) + 1).keys()];
    return [{
      type: 'heatmap',
      x,
      y,
      z: counts.map((row) => row.map((count) => (count > 0 ? Math.log10(count) : null))),
      customdata: counts.map((row, at) => row.map((count) => {
        const span = [y[at], y[at + 1]].map((ms) => ms.toPrecision(3)).join(' to ');
        return `${count.toLocaleString('en')} requests took ${span} ms`;
      })),
      hovertemplate: 'around %{x:,.1f} s<br>%{customdata}<extra></extra>',
      hoverongaps: false,
      colorscale: shades(),
      zmin: 0,
      zmax: Math.max(Math.log10(most), 1),
      colorbar: {
        ...bar('requests per cell'),
        tickvals: powers,
        ticktext: powers.map((power) => ['1', '10', '100', '1k', '10k', '100k'][power] || `1e${power}`),
      },
    }];
  };

  const flat = (chart) => chart.kind === 'errors'
    && chart.lines.every((line) => line.y.every((value) => value === 0));

  const grid = (chart) => Boolean(chart.cells || chart.map);

  const layout = (chart) => ({
    height: flat(chart) ? 190 : 330,
    margin: { l: 12, r: 12, t: grid(chart) ? 56 : 12, b: 12 },
    paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)',
    font: { color: colour('ink'), family: getComputedStyle(document.body).fontFamily, size: 12 },
    hoverlabel: { bgcolor: colour('card'), bordercolor: colour('line'),
      font: { color: colour('ink'), size: 12 } },
    hovermode: grid(chart) || chart.x.scale === 'nines' ? 'closest' : 'x unified',
    // Where there are few points, the nearest is far.
    hoverdistance: grid(chart) ? 20 : -1,
    xaxis: { ...axis(chart.x, chart.lines), ...range(chart) },
    yaxis: axis(chart.y),
    showlegend: !grid(chart),
    legend: { orientation: 'h', x: 0, y: 1.02, yanchor: 'bottom' },
    dragmode: 'zoom',
    shapes: (chart.bands || []).map(band),
  });

  // What the server, springload or an agent did not do, behind what was measured meanwhile.
  const band = ({ from_s: x0, to_s: x1, what, text }) => ({
    type: 'rect', xref: 'x', yref: 'paper', x0, x1, y0: 0, y1: 1, layer: 'below',
    line: { width: 0 },
    fillcolor: fade(colour({ outage: 'bad', pause: 'fair', lost: 'tone-8' }[what]), 0.18),
    label: { text, textposition: 'top left', font: { size: 11, color: colour('ink') } },
  });

  const isTime = (chart) => chart.x.scale === 'time';

  // All charts over time share one range: the stage's whole time, or what was zoomed to.
  const range = (chart) => {
    if (isTime(chart)) return { range: shown.range || whole(), autorange: false };
    if (chart.x.scale !== 'nines') return {};
    const last = Math.max(10, ...chart.lines.flatMap((line) => line.x));
    return { range: [0, Math.log10(last) * 1.01], autorange: false };
  };
  const whole = () => {
    const heats = charts().filter((chart) => chart.cells);
    return [0, Math.max(...heats.map((chart) => chart.cells.x[chart.cells.x.length - 1]))];
  };

  // --- drawing -------------------------------------------------------------------------------

  const stage = () => data.stages.find((it) => it.name === shown.stage);
  const charts = () => (stage().views.find((it) => it.name === shown.view)
    || stage().views[0]).charts;

  const config = { responsive: true, displaylogo: false, displayModeBar: false,
    scrollZoom: false, doubleClick: 'reset+autosize' };

  const draw = (plot) => {
    const { chart, node } = plot;
    const traces = chart.cells ? cells(chart) : !chart.map ? lines(chart)
      : chart.map.edges ? rows(chart) : map(chart);
    return Plotly.react(node, traces, layout(chart), config);
  };

  // One time axis for all: what one is zoomed to, the others follow.
  const zoom = (wanted) => {
    shown.range = wanted;
    reset.hidden = !wanted;
    const time = plots.filter(({ chart }) => isTime(chart));
    return Promise.all(time.map(({ node }) => {
      const [from, to] = wanted || whole();
      const now = node.layout.xaxis.range;
      if (now[0] === from && now[1] === to) return null;
      return Plotly.relayout(node, { 'xaxis.range': [from, to] });
    }));
  };

  const follow = ({ chart, node }) => {
    if (!isTime(chart)) return;
    node.on('plotly_relayout', (change) => {
      const range = change['xaxis.range'];
      const [from, to] = range || [change['xaxis.range[0]'], change['xaxis.range[1]']];
      if (change['xaxis.autorange']) zoom(null);
      else if (from !== undefined && String([from, to]) !== String(shown.range || whole())) {
        zoom([from, to]);
      }
    });
    node.on('plotly_doubleclick', () => { zoom(null); });
  };

  const show = async () => {
    plots.forEach(({ node }) => Plotly.purge(node));
    figures.replaceChildren();
    plots = charts().map((chart, at) => {
      const figure = document.createElement('div');
      figure.className = 'figure';
      figure.innerHTML = '<h3></h3><p class="note"></p><div class="plot"></div>';
      figure.children[0].textContent = chart.title;
      figure.children[1].textContent = chart.note;
      const node = figure.children[2];
      node.id = `chart-${chart.kind}-${at}`;
      node.dataset.kind = chart.kind;
      figures.append(figure);
      return { chart, node };
    });
    await Promise.all(plots.map(draw));
    plots.forEach(follow);
    root.dataset.drawn = `${shown.stage}/${shown.view}`;
  };

  const choice = (id, items, chosen, choose) => {
    const group = document.getElementById(id);
    group.replaceChildren(...items.map(({ name, title }) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = title || name;
      button.setAttribute('aria-pressed', String(name === chosen));
      button.onclick = () => { choose(name); controls(); show(); };
      return button;
    }));
    group.hidden = items.length < 2;
  };

  const controls = () => {
    choice('stages', data.stages, shown.stage, (name) => {
      if (name !== shown.stage) Object.assign(shown, { stage: name, view: 'all', range: null });
      reset.hidden = true;
    });
    choice('views', stage().views, shown.view, (name) => {
      shown.view = name;
    });
  };

  // --- the page ------------------------------------------------------------------------------

  const theme = (name) => {
    setTheme(name);
    return Promise.all(plots.map(draw));
  };
  setTheme(dark.matches ? 'dark' : 'light');
  dark.addEventListener('change', () => theme(dark.matches ? 'dark' : 'light'));
  document.getElementById('theme').onclick = () => {
    theme(root.dataset.theme === 'dark' ? 'light' : 'dark');
  };
  reset.onclick = () => { zoom(null); };
  if (!data.first) {
    document.getElementById('charts').hidden = true;
    return;
  }
  // On paper: light, and as wide as the paper. plotly.js must be told before and after.
  let onScreen = null;
  const width = (pixels) => plots.forEach(({ node }) => {
    Plotly.relayout(node, { width: pixels, autosize: !pixels });
  });
  addEventListener('beforeprint', () => {
    onScreen = root.dataset.theme;
    theme('light');
    width(680);
  });
  addEventListener('afterprint', () => { theme(onScreen); width(null); });
  controls();
  show();
})();
