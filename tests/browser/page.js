// Opens reports in a browser and checks what a reader would see. Arguments: the browser, a folder
// of its own, pages of one run, of two runs, of a sweep over two settings by size, of a burst and
// of a run with three agents, a folder for pictures or nothing.
// Prints a line for each check: `ok NAME` or `not ok NAME: why`; in the end nothing is left running.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const [browser, profile, single, several, sweep, burst, agents, pictures] = process.argv.slice(2);
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const LIMIT_MS = 30_000;

const context = await chromium.launchPersistentContext(profile, {
  executablePath: browser, headless: true, args: FLAGS, viewport: { width: 1200, height: 900 },
  colorScheme: 'light', timeout: LIMIT_MS,
});
context.setDefaultTimeout(LIMIT_MS);
const page = await context.newPage();

// Whatever a page complains about or asks for.
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

// The charts in place: kind, number of points or cells that plotly.js has calculated, time range.
const plots = () => page.evaluate(() => [...document.querySelectorAll('.plot')].map((node) => ({
  id: node.id,
  kind: node.dataset.kind,
  points: node.calcdata.map((trace) => (trace[0].z
    ? trace[0].z.flat().filter(Number.isFinite).length
    : trace.filter((point) => Number.isFinite(point.y)).length)),
  drawn: node.querySelectorAll('.trace path, .heatmaplayer image').length,
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

const KINDS = ['throughput', 'latency', 'percentiles', 'heatmap', 'errors'];
const TIME = ['throughput', 'latency', 'heatmap', 'errors'];
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
// Asks again until it holds: what plotly.js draws, it draws after the event.
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

  'warnings and trust come before any number': async () => {
    const order = await page.evaluate(() => [...document.querySelectorAll('main > section')]
      .map((section) => section.id));
    equal(order.slice(0, 3), ['trust', 'summary', 'charts'], 'sections');
    ensure(/trust: mixed/.test(await page.textContent('#trust')), 'no trust line');
  },

  'a hover tells values': async () => {
    for (const kind of KINDS) {
      const area = page.locator(`[data-kind="${kind}"] .nsewdrag`).first();
      await area.scrollIntoViewIfNeeded();
      const box = await area.boundingBox();
      await until(async () => {
        let texts = [];
        // Somewhere in the chart: a cell or a curve is not everywhere.
        for (let step = 1; step < 10 && texts.length === 0; step += 1) {
          for (const x of kind === 'throughput' || kind === 'latency' || kind === 'errors'
            ? [0.5] : [0.3, 0.5, 0.7]) {
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
    ensure(before.length === 4 && same(before), `at first ${JSON.stringify(before)}`);
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
      ['throughput', 'latency', 'percentiles', 'heatmap', 'heatmap', 'errors'], 'charts');
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
    ensure(/4 of 4 runs measured/.test(await page.textContent('#trust')), 'no trust line');
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
