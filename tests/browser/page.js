// Opens reports in a browser and checks what a reader would see. Arguments: the browser, a folder
// of its own, pages of one run, of two runs, of a sweep over two settings by size, of a burst, of a
// run with three agents and of one that missed its requirement and whose server stalled, the SVG and
// the PNG of that, a folder for pictures or nothing.
// Prints a line for each check: `ok NAME` or `not ok NAME: why`; in the end nothing is left running.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const [browser, profile, single, several, sweep, burst, agents, bad, svg, png, pictures] = process
  .argv.slice(2);
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const LIMIT_MS = 30_000;

const context = await chromium.launchPersistentContext(profile, {
  executablePath: browser, headless: true, args: FLAGS, viewport: { width: 1200, height: 900 },
  colorScheme: 'light', timeout: LIMIT_MS,
});
context.setDefaultTimeout(LIMIT_MS);
const page = await context.newPage();

// All errors and requests of a page.
let complaints = [];
let requests = [];
page.on('console', (message) => {
  if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
});
page.on('pageerror', (error) => complaints.push(String(error)));
page.on('request', (request) => requests.push(request.url()));

const open = async (file) => {
  complaints = [];
  requests = [];
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector('html[data-drawn]');
};

const equal = (found, wanted, what) => {
  const [one, two] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (one !== two) throw new Error(`${what}: ${one} instead of ${two}`);
};
const ensure = (truth, what) => { if (!truth) throw new Error(what); };

// The charts on the page: kind, number of points or cells computed by plotly.js, time range.
const plots = () => page.evaluate(() => [...document.querySelectorAll('.plot')].map((node) => ({
  id: node.id,
  kind: node.dataset.kind,
  points: node.calcdata.map((trace) => (trace[0].z
    ? trace[0].z.flat().filter(Number.isFinite).length
    : trace.filter((point) => Number.isFinite(point.y)).length)),
  drawn: node.querySelectorAll('.trace path, .heatmaplayer image').length,
  labels: node.querySelectorAll('.ytick').length,
  range: node.layout.xaxis.range,
})));

const quiet = async () => {
  equal(complaints, [], 'console');
  equal(requests.filter((url) => !/^(file|data|blob):/.test(url)), [], 'requests');
  equal(requests.filter((url) => url.startsWith('file:')).length, 1, 'files read');
};

const narrow = async () => {
  const widest = await page.evaluate(() => {
    const root = document.documentElement;
    return [root.scrollWidth, root.clientWidth];
  });
  ensure(widest[0] <= widest[1], `the page is ${widest[0]} wide in ${widest[1]}`);
};

const picture = async (name, options = {}) => {
  if (!pictures) return;
  await page.screenshot({ path: join(pictures, `${name}.png`), ...options });
};

// Nothing failed, so there is no chart of failures.
const KINDS = ['throughput', 'latency', 'percentiles', 'heatmap'];
const TIME = ['throughput', 'latency', 'heatmap'];
const ranges = async () => (await plots()).filter((it) => TIME.includes(it.kind))
  .map((it) => it.range.map((value) => Math.round(value * 100) / 100));
const same = (all) => all.every((range) => String(range) === String(all[0]));
const drag = async (kind, from, to) => {
  const area = page.locator(`[data-kind="${kind}"] .nsewdrag`).first();
  await area.scrollIntoViewIfNeeded();
  const box = await area.boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, y, { steps: 8 });
  await page.mouse.up();
};
// Checks again until it holds, because plotly.js draws after the event.
const until = async (truth, what) => {
  for (let asked = 0; asked < 100; asked += 1) {
    if (await truth()) return;
    await page.waitForTimeout(50);
  }
  throw new Error(what);
};
const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const bright = (rgb) => rgb.match(/\d+/g).slice(0, 3).every((part) => Number(part) > 128);

const checks = {
  'every chart has data': async () => {
    await open(single);
    const found = await plots();
    equal(found.map((it) => it.kind), KINDS, 'charts');
    for (const { id, points, drawn } of found) {
      ensure(points.length > 0 && points.every((count) => count > 0), `${id} has ${points}`);
      ensure(drawn > 0, `${id} shows nothing`);
    }
    await picture('report-light', { clip: { x: 0, y: 0, width: 1200, height: 1380 }, fullPage: true });
    await picture('whole', { fullPage: true });
  },

  'the axis of times that hardly differ has labels': async () => {
    const copy = join(profile, 'steady.html');
    const text = readFileSync(single, 'utf8');
    const [, before, json, after] = text.match(/^([^]*id="data">)(.*?)(<\/script>[^]*)$/);
    const data = JSON.parse(json);
    const steady = (part) => {
      if (Array.isArray(part)) return part.map(steady);
      if (!part || typeof part !== 'object') return part;
      if (part.kind === 'latency' && part.lines) {
        const lines = part.lines.map((line) => ({ ...line, y: line.y.map((_, at) => 501 + at / 99) }));
        return { ...part, lines };
      }
      return Object.fromEntries(Object.entries(part).map(([name, it]) => [name, steady(it)]));
    };
    writeFileSync(copy, before + JSON.stringify(steady(data)).replaceAll('<', '\\u003c') + after);
    await open(copy);
    const [times] = (await plots()).filter((it) => it.kind === 'latency');
    ensure(times.labels >= 2, `${times.labels} labels`);
    await open(single);
    const few = (await plots()).filter((it) => it.labels < 2);
    equal(few.map((it) => it.id), [], 'without labels');
  },

  'the result comes first, and what it rests on is folded up': async () => {
    const order = await page.evaluate(() => [...document.querySelectorAll('main > section')]
      .map((section) => section.id));
    equal(order.slice(0, 3), ['result', 'summary', 'charts'], 'sections');
    equal(await page.title(), 'a run for the browser · springload', 'title');
    equal(await page.textContent('h1'), 'a run for the browser', 'heading');
    const tiles = await page.locator('.tile dt').allTextContents();
    equal(tiles, ['rate', 'p50', 'p99', 'errors'], 'tiles');
    const values = await page.locator('.tile .value').allTextContents();
    ensure(values.every((text) => /\d/.test(text)), `tiles say ${values}`);
    ensure(!(await page.locator('#trust .trust').first().isVisible()), 'not folded up');
    await page.click('#trust summary');
    const trust = await page.locator('#trust .trust').allTextContents();
    ensure(trust.some((text) => /mixed: /.test(text)), `no verdict: ${trust}`);
    ensure(/^result: /.test(trust.at(-1)), `no result: ${trust}`);
    await page.click('#trust summary');
  },

  'the page is painted before plotly.js is read': async () => {
    const told = await page.evaluate(() => ({
      paint: performance.getEntriesByType('paint').map((it) => it.startTime),
      library: performance.getEntriesByName('library')[0].startTime,
      // A screenshot taken as soon as the page has loaded includes the charts.
      loaded: performance.getEntriesByType('navigation')[0].loadEventStart,
    }));
    ensure(told.paint.length > 0 && told.paint.every((at) => at < told.library)
      && told.loaded > told.library, JSON.stringify(told));
  },

  'every chart has its words, and can be saved': async () => {
    const labels = await page.evaluate(() => [...document.querySelectorAll('.plot')]
      .map((node) => [node.getAttribute('role'), node.getAttribute('aria-label')]));
    ensure(labels.every(([role, label]) => role === 'img' && /: .*\d/.test(label)),
      JSON.stringify(labels));
    const saved = async (button) => {
      const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
      return [download.suggestedFilename(), readFileSync(await download.path())];
    };
    const [name, table] = await saved(page.locator('#table-csv'));
    equal(name, 'summary.csv', 'name of the table');
    const lines = String(table).trim().split('\n');
    ensure(/^stage,operation,ok\/s,p50,p99,/.test(lines[0]), lines[0]);
    ensure(lines.some((line) => /^mixed,all,\d+,[\d.]+,[\d.]+,/.test(line)), String(table));
    equal(new Set(lines.map((line) => line.split(',').length)).size, 1, 'lengths of rows');
    for (const kind of KINDS) {
      // Chromium silently drops downloads after the tenth within a second.
      await page.waitForTimeout(1_100);
      const figure = page.locator(`.figure:has([data-kind="${kind}"])`).first();
      const [csv, rows] = await saved(figure.locator('button:text-is("CSV")'));
      equal(csv, `crud-all-${kind}.csv`, 'name');
      ensure(String(rows).trim().split('\n').length > 3, `${kind}: ${rows}`);
      const [, drawing] = await saved(figure.locator('button:text-is("SVG")'));
      ensure(/^<svg[\s\S]*<\/svg>\s*$/.test(String(drawing)), `${kind}: no SVG`);
      const [, image] = await saved(figure.locator('button:text-is("PNG")'));
      equal(image.subarray(1, 4).toString(), 'PNG', kind);
      ensure(image.length > 8_000, `${kind}: a PNG of ${image.length} bytes`);
    }
  },

  'a run that failed says so first, and when its server stalled': async () => {
    await open(bad);
    // On a busy machine the numbers are not trustworthy, which takes precedence.
    const first = await page.textContent('.headline');
    ensure(/^(✗FAILEDread p99 .*limit 1 µs|!NOT TRUSTWORTHY)/.test(first), first);
    ensure(/read p99 ≤ 1 µs: missed, /.test(await page.textContent('.requirements .missed')),
      'no requirement');
    ensure(/no answer for 0\.\d+ s/.test(await page.textContent('.story')),
      await page.textContent('.story'));
    const bands = await page.evaluate(() => [...document.querySelectorAll('.plot')].map((node) => [
      node.dataset.kind, node._fullLayout.shapes.length, node._fullLayout.annotations.length]));
    for (const [kind, shapes, captions] of bands) {
      const wanted = [...TIME, 'server', 'lag'].includes(kind);
      ensure(shapes > 0 === wanted && captions > 0 === wanted, `${kind}: ${shapes}, ${captions}`);
    }
    equal(await page.locator('.tile.bad dt').allTextContents(), ['p99'], 'red tiles');
    await picture('bad', { fullPage: true });
    await quiet();
  },

  'SVG and PNG are one picture': async () => {
    const pixels = async (file, type) => page.evaluate(async ([bytes, type]) => {
      const image = new Image();
      image.src = `data:${type};base64,${bytes}`;
      await image.decode();
      const canvas = document.createElement('canvas');
      // Coarse, because letters are not drawn the same everywhere.
      [canvas.width, canvas.height] = [Math.round(image.width / 8), Math.round(image.height / 8)];
      const pen = canvas.getContext('2d');
      pen.imageSmoothingQuality = 'high';
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      return [image.width, image.height, [...pen.getImageData(0, 0, canvas.width, canvas.height)
        .data]];
    }, [readFileSync(file).toString('base64'), type]);
    const one = await pixels(svg, 'image/svg+xml');
    const other = await pixels(png, 'image/png');
    equal(one.slice(0, 2), other.slice(0, 2), 'size');
    const far = one[2].filter((value, at) => Math.abs(value - other[2][at]) > 90).length;
    ensure(far < one[2].length * 0.003, `${far} of ${one[2].length} differ`);
    ensure(one[2].filter((value) => value < 200).length > 2_000, 'both are white');
  },

  'a hover tells values': async () => {
    for (const kind of KINDS) {
      const area = page.locator(`[data-kind="${kind}"] .nsewdrag`).first();
      await area.scrollIntoViewIfNeeded();
      const box = await area.boundingBox();
      await until(async () => {
        let texts = [];
        // Somewhere in the chart, because a cell or a curve does not cover all of it.
        for (let step = 1; step < 10 && texts.length === 0; step += 1) {
          for (const x of kind === 'throughput' || kind === 'latency' ? [0.5] : [0.3, 0.5, 0.7]) {
            await page.mouse.move(box.x + box.width * x, box.y + (box.height * step) / 10);
            await page.waitForTimeout(60);
            texts = await page.locator(`[data-kind="${kind}"] .hoverlayer text`).allTextContents();
            if (texts.length > 0) break;
          }
        }
        return texts.some((text) => /\d/.test(text));
      }, `${kind} tells nothing`);
    }
  },

  'zooming one chart over time zooms all': async () => {
    const before = await ranges();
    ensure(before.length === TIME.length && same(before), `at first ${JSON.stringify(before)}`);
    await drag('throughput', 0.25, 0.5);
    await until(async () => {
      const now = await ranges();
      return same(now) && now[0][0] > before[0][0] && now[0][1] < before[0][1];
    }, `not moved together: ${JSON.stringify(await ranges())}`);
    await page.click('#reset');
    await until(async () => String(await ranges()) === String(before), 'not back');
    await drag('heatmap', 0.6, 0.9);
    await until(async () => {
      const now = await ranges();
      return same(now) && now[0][0] > before[0][0];
    }, `not moved by the heat map: ${JSON.stringify(await ranges())}`);
    await page.click('#reset');
    await until(async () => String(await ranges()) === String(before), 'not back again');
  },

  'a legend hides a line': async () => {
    const visible = () => page.evaluate(() => document.querySelector('[data-kind="latency"]')
      ._fullData.filter((trace) => trace.visible === true).length);
    const before = await visible();
    await page.locator('[data-kind="latency"] .legendtoggle').first().click();
    await until(async () => (await visible()) === before - 1, 'nothing was hidden');
  },

  'stages and operations can be chosen': async () => {
    await page.click('#views button:text-is("read")');
    await page.waitForSelector('html[data-drawn="crud/read"]');
    equal((await plots()).length, KINDS.length, 'charts of reads');
    await page.click('#stages button:text-is("bulk insert")');
    await page.waitForSelector('html[data-drawn="bulk_insert/all"]');
    ensure((await plots()).every((it) => it.points.some((count) => count > 0)), 'an empty chart');
    await quiet();
  },

  'dark is dark': async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await open(single);
    ensure(!bright(await background()), `dark is ${await background()}`);
    const text = await page.evaluate(() => document.querySelector('.plot')._fullLayout.font.color);
    equal(text, '#e6eaef', 'text of a chart');
    await picture('report-dark', { clip: { x: 0, y: 0, width: 1200, height: 1380 }, fullPage: true });
    await page.click('#theme');
    await until(async () => bright(await background()), 'the button does nothing');
    await quiet();
    await page.emulateMedia({ colorScheme: 'light' });
  },

  'it fits a phone': async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await open(single);
    await narrow();
    const found = await plots();
    ensure(found.every((it) => it.drawn > 0), 'a chart is empty');
    // Visible without scrolling: all operations in tiles, and each kind in the table.
    const seen = await page.evaluate(() => {
      const within = (node) => {
        const box = node.getBoundingClientRect();
        return box.left >= 0 && box.right <= innerWidth && box.width > 0;
      };
      const tiles = [...document.querySelectorAll('.tile')];
      const [, , p50, p99] = document.querySelectorAll('#figures-table thead th');
      return [tiles.every((it) => within(it) && it.getBoundingClientRect().bottom <= innerHeight),
        within(p50) && p50.innerText, within(p99) && p99.innerText];
    });
    equal(seen, [true, 'p50', 'p99'], 'seen without scrolling');
    await picture('report-phone', { clip: { x: 0, y: 0, width: 390, height: 1700 }, fullPage: true });
    await picture('phone-whole', { fullPage: true });
    await open(several);
    await narrow();
    await quiet();
    await page.setViewportSize({ width: 1200, height: 900 });
  },

  'several runs lie on each other': async () => {
    await open(several);
    const found = await plots();
    equal(found.map((it) => it.kind),
      ['throughput', 'latency', 'percentiles', 'heatmap', 'heatmap'], 'charts');
    const heads = await page.locator('#figures-table thead th').allInnerTexts();
    ensure(heads.length === 2 && heads.every((text) => /^[AB]/.test(text)), String(heads));
    equal(heads[0].slice(1).trim(), 'a run for the browser', 'name of the first');
    const told = await page.locator('#figures-table .difference').allTextContents();
    ensure(told.some((text) => /^([+−±]\d+ %|[×÷][\d.]+)$/.test(text)), String(told));
    const names = await page.evaluate(() => document.querySelector('[data-kind="throughput"]')
      ._fullData.map((trace) => trace.name));
    ensure(['A served', 'B served'].every((name) => names.includes(name)), String(names));
    await quiet();
    await picture('several', { fullPage: true });
  },

  'every chart of a sweep has data': async () => {
    await open(sweep);
    const found = await plots();
    equal(found.map((it) => it.kind),
      ['throughput', 'throughput', 'throughput', 'heatmap'], 'charts');
    for (const { id, points, drawn } of found) {
      ensure(points.length > 0 && points.every((count) => count > 0), `${id} has ${points}`);
      ensure(drawn > 0, `${id} shows nothing`);
    }
    const traces = await page.evaluate(() => [...document.querySelectorAll('.plot')]
      .map((node) => node._fullData.filter((trace) => trace.line?.dash !== 'dot').length));
    equal(traces, [4, 2, 2, 1], 'a line for each cell, for each value of the other setting');
    equal(found[3].points, [4], 'cells of the map');
    await page.click('#theme');
    const head = await page.textContent('.headline');
    ensure(/4 runs, all valid|of 4 runs not trustworthy/.test(head), head);
    const cautions = await page.textContent('#result .warnings');
    ensure(/each combination was measured once/.test(cautions), cautions);
    await picture('sweep', { fullPage: true });
    await page.setViewportSize({ width: 390, height: 844 });
    await open(sweep);
    await narrow();
    await page.setViewportSize({ width: 1200, height: 900 });
    await quiet();
  },

  'a burst has its start and its seconds': async () => {
    await open(burst);
    const text = await page.textContent('#bursts');
    ensure(/start: 8 workers within [\d.,]+ ms/.test(text), `no start: ${text}`);
    ensure(/per worker/.test(text) && /2 \(partial\)/.test(text), `no seconds: ${text}`);
    const found = await plots();
    ensure(found.every((it) => it.points.some((count) => count > 0)), 'an empty chart');
    const names = await page.evaluate(() => [...document.querySelectorAll('.plot')]
      .flatMap((node) => node._fullData.map((trace) => trace.name)));
    ensure(['all workers', 'partial second', 'average per worker']
      .every((name) => names.includes(name)), String(names));
    await picture('burst', { fullPage: true });
    await quiet();
  },

  'it prints': async () => {
    await page.emulateMedia({ media: 'print' });
    // The selection is shown as a word there.
    const buttons = page.locator('button:visible:not([aria-pressed="true"])');
    ensure(await buttons.count() === 0, 'buttons on paper');
    await page.emulateMedia({ media: null });
    const paper = await page.pdf({ format: 'A4', path: pictures && join(pictures, 'paper.pdf') });
    ensure(paper.length > 20_000, `the paper has ${paper.length} bytes`);
  },

  'agents have a row each, in a map and in a table': async () => {
    await open(agents);
    const map = (await plots()).find((it) => it.kind === 'agents');
    ensure(map && map.points[0] >= 9 && map.drawn > 0, `a map of ${map && map.points}`);
    equal(await page.locator('#agents tbody tr').count(), 6, 'rows of two stages');
    ensure(/3 agents began within/.test(await page.textContent('#agents')), 'no start');
    await picture('agents', { fullPage: true });
    await page.setViewportSize({ width: 390, height: 844 });
    await open(agents);
    await narrow();
    await page.setViewportSize({ width: 1200, height: 900 });
    await quiet();
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${name}: ${error.message.split('\n')[0]}`);
  }
}
await context.close();
process.exitCode = failed === 0 ? 0 : 1;
