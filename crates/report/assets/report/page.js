// Hands the charts in #data to plotly.js, and keeps their time axes together. What needs no chart
// is there before plotly.js is even read.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const root = document.documentElement;
  const figures = document.getElementById('figures');
  const reset = document.getElementById('reset');
  const shown = { stage: data.first, view: 'all', range: null };
  let plots = [];

  // --- colors -------------------------------------------------------------------------------

  const dark = matchMedia('(prefers-color-scheme: dark)');
  const color = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const setTheme = (theme) => { root.dataset.theme = theme; };

  const fade = (hex, share) => {
    const part = (at) => parseInt(hex.slice(at, at + 2), 16);
    return `rgba(${part(1)}, ${part(3)}, ${part(5)}, ${share})`;
  };

  // --- from our charts to plotly's -----------------------------------------------------------

  const BANDS = { outage: 'bad', silence: 'bad', pause: 'fair', lost: 'tone-8', busy: 'tone-5', broken: 'tone-6' };
  // More would hide the chart.
  const MOST_CAPTIONS = 4;

  const number = (value) => value.toLocaleString('en');
  // More names do not fit an axis.
  const MOST_NAMES = 30;

  const axis = ({ title, scale, names }, lines = []) => {
    const common = {
      title: { text: title, font: { size: 12 } }, automargin: true, gridcolor: color('line'),
      zerolinecolor: color('line'), linecolor: color('line'), tickfont: { size: 11 },
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
    return { ...common, tickformat: ',~f', hoverformat: ',.1f' };
  };

  const unit = ({ kind, y }) => {
    if (y.title.endsWith(', %')) return '%';
    return kind === 'latency' ? 'ms' : '/s';
  };

  const lines = (chart) => (chart.lines || []).map((line) => ({
    type: 'scatter',
    mode: line.x.length > 60 || chart.x.scale === 'nines' ? 'lines' : 'lines+markers',
    name: line.name,
    x: line.x,
    y: line.y,
    visible: line.hidden ? 'legendonly' : true,
    customdata: chart.x.scale === 'nines'
      ? line.x.map((x) => `${Number((100 - 100 / x).toPrecision(8))} %`) : undefined,
    line: {
      color: color(`tone-${line.tone % 10}`), width: line.stroke === 'solid' ? 2 : 1.5,
      dash: line.stroke,
    },
    marker: { size: 5 },
    fill: chart.kind === 'errors' ? 'tozeroy' : 'none',
    fillcolor: fade(color(`tone-${line.tone % 10}`), 0.12),
    hovertemplate: chart.x.scale === 'nines'
      ? '%{customdata}: %{y:,.3~f} ms' : `%{y:,.4~r} ${unit(chart)}`,
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
  const rows = ({ map: { rates, unit, edges, rows: names } }) => [{
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
    colorbar: { ...bar(unit), nticks: 5, tickformat: ',~r' },
  }];

  const map = ({ x, y, map: { rates, unit } }) => [{
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
    colorbar: { ...bar(unit), nticks: 5, tickformat: ',~r' },
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
    && (chart.lines || []).every((line) => line.y.every((value) => value === 0));

  // A logarithmic axis has a label at 1, 2 and 5: there are two within a factor of 6.25.
  const wide = (chart) => {
    const values = (chart.lines || []).flatMap((line) => line.y).filter((value) => value > 0);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    if (chart.y.scale !== 'log' || values.length === 0 || most / least > 6.25) return {};
    return { range: [Math.log10(least / 2.5), Math.log10(most * 2.5)], autorange: false };
  };

  const grid = (chart) => Boolean(chart.cells || chart.map);

  const layout = (chart) => ({
    height: flat(chart) ? 190 : 330,
    margin: { l: 12, r: 12, t: grid(chart) ? 56 : 12, b: 12 },
    paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)',
    font: { color: color('ink'), family: getComputedStyle(document.body).fontFamily, size: 12 },
    hoverlabel: { bgcolor: color('card'), bordercolor: color('line'),
      font: { color: color('ink'), size: 12 } },
    hovermode: grid(chart) || chart.x.scale === 'nines' ? 'closest' : 'x unified',
    // Where there are few points, the nearest is far.
    hoverdistance: grid(chart) ? 20 : -1,
    xaxis: { ...axis(chart.x, chart.lines), ...range(chart) },
    yaxis: { ...axis(chart.y), ...wide(chart) },
    showlegend: chart.legend && !grid(chart),
    legend: { orientation: 'h', x: 0, y: 1.02, yanchor: 'bottom' },
    dragmode: 'zoom',
    shapes: (chart.bands || []).map(band),
    annotations: (chart.bands || []).slice(0, MOST_CAPTIONS).map(caption),
  });


  // What the server, springload or an agent did not do, behind what was measured meanwhile.
  const band = ({ from_s: x0, to_s: x1, what, text }) => ({
    type: 'rect', xref: 'x', yref: 'paper', x0, x1, y0: 0, y1: 1, layer: 'below',
    line: { width: 0 },
    fillcolor: fade(color(BANDS[what]), 0.18),
  });

  // The caption of a band: beside its beginning, or before its end where there is no room.
  const caption = ({ from_s, to_s, what, text }, row) => {
    const late = from_s > (whole()[1] || 0) * 0.75;
    return {
      x: late ? to_s : from_s, xref: 'x', xanchor: late ? 'right' : 'left',
      y: 1, yref: 'paper', yanchor: 'top', yshift: -16 * (row % 4), text, showarrow: false,
      font: { size: 12, color: color(BANDS[what]) }, bgcolor: fade(color('card'), 0.75),
    };
  };

  const isTime = (chart) => chart.x.scale === 'time';

  // All charts over time share one range: the stage's whole time, or what was zoomed to.
  const range = (chart) => {
    if (isTime(chart)) return { range: shown.range || whole(), autorange: false };
    if (chart.x.scale !== 'nines') return {};
    const last = Math.max(10, ...chart.lines.flatMap((line) => line.x));
    return { range: [0, Math.log10(last) * 1.01], autorange: false };
  };
  const whole = () => {
    const ends = charts().filter(isTime).map((chart) => chart.x.end);
    return [0, Math.max(0, ...ends)];
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

  // --- what can be taken along -----------------------------------------------------------------

  const save = (name, type, text) => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };

  // A cell of a CSV file. A spreadsheet would take text that begins so for a formula.
  const cell = (value) => {
    if (typeof value === 'number') return String(value);
    const text = value === null || value === undefined ? '' : String(value);
    const plain = /^[=+@\t\r-]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  const csv = (rows) => rows.map((row) => `${row.map(cell).join(',')}\n`).join('');

  const rowsOf = (chart) => {
    const { x, y, cells: counted, map: mapped } = chart;
    if (counted) {
      const found = counted.counts.flatMap((row, at) => row.map((count, column) => [
        counted.x[column], counted.x[column + 1], counted.y[at], counted.y[at + 1], count]));
      return [['from, s', 'to, s', 'from, ms', 'to, ms', 'requests'],
        ...found.filter((row) => row[4] > 0)];
    }
    if (mapped) {
      const name = (at) => (mapped.edges ? mapped.edges[at] : x.names[at]);
      return [[y.title, x.title, mapped.unit], ...mapped.rates.flatMap((row, at) => row.map(
        (rate, column) => [y.names[at], name(column), rate]))];
    }
    const percentile = (value) => Number((100 - 100 / value).toPrecision(8));
    const place = (value) => (x.scale === 'nines' ? percentile(value)
      : x.names ? x.names[value] : value);
    return [['line', x.title, y.title],
      ...chart.lines.flatMap((line) => line.x.map((at, i) => [line.name, place(at), line.y[i]]))];
  };

  // A table as rows of text. What stands in a row of its own above others is a column.
  const tableRows = (table) => {
    const text = (it) => {
      const copy = it.cloneNode(true);
      copy.querySelectorAll('.difference').forEach((one) => one.remove());
      const parts = [...copy.childNodes].map((one) => one.textContent.trim());
      return parts.join(' ').replace(/(\d),(?=\d{3})/g, '$1');
    };
    const staged = table.querySelector('tr.stage') !== null;
    let stage = 'stage';
    return [...table.rows].flatMap((row) => {
      const cells = [...row.cells].map(text);
      if (row.className === 'stage') {
        stage = (row.querySelector('strong') || row).textContent.trim();
        return [];
      }
      return [staged ? [stage, ...cells] : cells];
    });
  };

  // With its title, on the color that it is seen on.
  const image = async ({ chart, node }, format) => {
    const { xaxis, yaxis, ...rest } = node.layout;
    const layout = { ...rest, width: 1000, height: 480, paper_bgcolor: color('card'),
      title: { text: chart.title, x: 0.02, xanchor: 'left', font: { size: 17 } },
      margin: { l: 24, r: 24, t: grid(chart) ? 100 : 84, b: 24 }, xaxis, yaxis };
    const url = await Plotly.toImage({ data: node.data, layout }, { format, scale: 2 });
    const body = url.slice(url.indexOf(',') + 1);
    if (format === 'svg') return decodeURIComponent(body);
    return Uint8Array.from(atob(body), (sign) => sign.charCodeAt(0));
  };

  const NAMES = { png: 'image/png', svg: 'image/svg+xml' };
  const downloads = (plot, at) => {
    const name = `${shown.stage}-${shown.view}-${plot.chart.kind}${at}`;
    const button = (text, act) => {
      const it = document.createElement('button');
      it.type = 'button';
      it.textContent = text;
      it.setAttribute('aria-label', `Save ${plot.chart.title} as ${text}`);
      it.onclick = act;
      return it;
    };
    return [
      button('CSV', () => save(`${name}.csv`, 'text/csv', csv(rowsOf(plot.chart)))),
      ...Object.entries(NAMES).map(([format, type]) => button(format.toUpperCase(), async () => {
        save(`${name}.${format}`, type, await image(plot, format));
      })),
    ];
  };

  // --- the charts of a stage and kind ------------------------------------------------------------

  // Titles and notes are there at once, and the room for what is drawn below them.
  const frames = () => {
    plots.forEach(({ node }) => window.Plotly && Plotly.purge(node));
    const same = (kind, at) => charts().slice(0, at).filter((it) => it.kind === kind).length;
    plots = charts().map((chart, at) => {
      const figure = document.createElement('figure');
      figure.className = 'figure';
      figure.innerHTML = '<figcaption><h3></h3><span class="downloads"></span></figcaption>'
        + '<p class="note"></p><div class="plot" role="img"></div>';
      const [head, note, node] = figure.children;
      head.firstChild.textContent = chart.title;
      note.textContent = chart.note;
      node.setAttribute('aria-label', chart.words);
      node.id = `chart-${chart.kind}-${at}`;
      node.dataset.kind = chart.kind;
      node.style.minHeight = `${layout(chart).height}px`;
      const plot = { chart, node };
      head.lastChild.append(...downloads(plot, same(chart.kind, at) ? `-${at}` : ''));
      return { ...plot, figure };
    });
    figures.replaceChildren(...plots.map(({ figure }) => figure));
  };

  const show = async () => {
    frames();
    if (!window.Plotly) return;
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
    return window.Plotly ? Promise.all(plots.map(draw)) : null;
  };
  dark.addEventListener('change', () => theme(dark.matches ? 'dark' : 'light'));
  document.getElementById('theme').onclick = () => {
    theme(root.dataset.theme === 'dark' ? 'light' : 'dark');
  };
  reset.onclick = () => { zoom(null); };
  document.getElementById('table-csv').onclick = () => {
    save('summary.csv', 'text/csv', csv(tableRows(document.querySelector('#summary table'))));
  };
  // On paper: light, unfolded, and as wide as the paper. plotly.js must be told before and after.
  let before = null;
  const width = (pixels) => plots.forEach(({ node }) => {
    if (window.Plotly) Plotly.relayout(node, { width: pixels, autosize: !pixels });
  });
  addEventListener('beforeprint', () => {
    const folded = [...document.querySelectorAll('details:not([open])')];
    folded.forEach((it) => { it.open = true; });
    before = { theme: root.dataset.theme, folded };
    theme('light');
    width(660);
  });
  addEventListener('afterprint', () => {
    before.folded.forEach((it) => { it.open = false; });
    theme(before.theme);
    width(null);
  });
  if (!data.first) {
    document.getElementById('charts').hidden = true;
    root.dataset.drawn = 'nothing';
    return;
  }
  controls();
  frames();
  // plotly.js takes a second to read on a phone: the page is painted first.
  const start = () => {
    performance.mark('library');
    const library = document.createElement('script');
    library.textContent = document.getElementById('library').textContent;
    document.head.append(library);
    show();
  };
  const afterPaint = () => {
    let begun = false;
    const begin = () => {
      if (!begun) start();
      begun = true;
    };
    // The page has not loaded before its charts are there, so that a picture of it shows them: it
    // has loaded when all images have, and one after the other is asked for until then.
    const hold = (count) => {
      if (begun) return;
      const image = new Image();
      image.onload = image.onerror = () => hold(count + 1);
      image.src = `data:image/gif;n=${count};base64,R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=`;
    };
    hold(0);
    // In the background nothing is painted, and some browsers do not tell.
    setTimeout(begin, 1000);
    new PerformanceObserver((told) => {
      if (told.getEntriesByName('first-contentful-paint').length > 0) setTimeout(begin);
    }).observe({ type: 'paint', buffered: true });
  };
  addEventListener('DOMContentLoaded', afterPaint);
})();
