// The report's page in Chromium: no network, keyboard, sorting, filter, dark mode, phone width, and a plot whose names
// can be read. Screenshots stay beside the pages for people to look at.
import assert from "node:assert/strict";
import test from "node:test";
import {resolve} from "node:path";
import {pathToFileURL} from "node:url";
import {chromium} from "playwright-core";

const browser = await chromium.launch({executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"]});
test.after(() => browser.close());

const address = file => pathToFileURL(resolve(file)).href;

// Opens a page that records what it asks for and what goes wrong in it.
async function open(file, options = {}) {
  const page = await browser.newPage({viewport: {width: 1200, height: 900}, ...options});
  page.requested = [];
  page.faults = [];
  page.on("request", request => page.requested.push(request.url()));
  page.on("pageerror", error => page.faults.push(String(error)));
  page.on("console", message => { if (["error", "warning"].includes(message.type())) page.faults.push(message.text()); });
  await page.goto(address(file));
  return page;
}

const shared = await open("all.html");  // of the tests that only read

const column = (page, index) => page.$$eval("#body tr", (rows, c) => rows.map(row => row.children[c].textContent), index);
const numbers = texts => texts.filter(text => text !== "").map(text => Number(text.replace(/[^0-9.]/g, "")));
const ascending = values => values.every((value, i) => i === 0 || values[i - 1] <= value);
const sorting = page => page.$$eval("#head th", heads => heads.map(head => head.getAttribute("aria-sort")));

test("the page is one file and runs without an error", async () => {
  assert.deepEqual(shared.requested, [address("all.html")]);
  assert.deepEqual(shared.faults, []);
  assert.match(await shared.title(), /vit_base_patch16_224, batch 16 a worker, bf16, adam/);
  assert.equal(await shared.locator("h1").textContent(), "What training costs");
});

test("every figure says where it comes from", async () => {
  for (const source of await column(shared, 9)) assert.match(source, /^(measured|predicted ±\d+ %)$/);
  for (const price of await column(shared, 10)) assert.match(price, /^(on-demand, [a-z0-9-]+, 20\d\d.*|no price known)$/);
  const assumptions = await shared.locator("#assumptions").textContent();
  for (const words of ["prices in US dollars", "no on-demand price at all is known", "left out: inf1.xlarge"])
    assert.ok(assumptions.includes(words), words);
});

test("names from files are text, not markup", async () => {
  assert.ok((await column(shared, 1)).includes("Workstation <b>&amp;"));
});

test("a click sorts a column, a second one turns it round, and rows without a figure stay last", async () => {
  const page = await open("all.html");
  assert.equal((await sorting(page))[6], "ascending");
  for (const index of [3, 4, 5, 6, 7]) {
    const head = page.locator("#head button").nth(index);
    if ((await sorting(page))[index] === "ascending") await page.locator("#head button").first().click();
    await head.click();
    assert.equal((await sorting(page))[index], "ascending");
    assert.equal((await sorting(page)).filter(Boolean).length, 1);
    const up = await column(page, index);
    assert.ok(ascending(numbers(up)), `column ${index}`);
    await head.click();
    assert.equal((await sorting(page))[index], "descending");
    const down = await column(page, index);
    assert.ok(ascending(numbers(down).reverse()), `column ${index} downwards`);
    for (const texts of [up, down]) assert.ok(!texts.slice(0, numbers(texts).length).includes(""));
  }
  await page.close();
});

test("the keyboard reaches the marks, sorts and filters", async () => {
  const page = await open("all.html");
  const focused = () => page.evaluate(() => ({tag: document.activeElement.tagName, text: document.activeElement.textContent,
    label: document.activeElement.getAttribute("aria-label"), outline: getComputedStyle(document.activeElement).outlineStyle}));
  await page.keyboard.press("Tab");
  const mark = await focused();
  assert.equal(mark.tag, "circle");
  assert.equal(mark.outline, "solid");
  assert.equal(await page.locator("#pointed").textContent(), mark.label);
  await page.keyboard.press("Tab");
  assert.notEqual((await focused()).label, mark.label);
  assert.equal(await page.locator("#pointed").textContent(), (await focused()).label);

  await page.focus("#filter");
  await page.keyboard.type("INF2");
  assert.ok((await column(page, 0)).every(name => name.startsWith("inf2.")));
  assert.ok((await column(page, 0)).length >= 4);
  await page.keyboard.press("Tab");  // the table's region, which arrow keys scroll
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "region");
  for (let i = 0; i < 5; ++i) await page.keyboard.press("Tab");
  assert.equal((await focused()).text, "Samples/s");
  await page.keyboard.press("Enter");
  assert.ok(ascending(numbers(await column(page, 4))));
  await page.keyboard.press("Space");
  assert.ok(ascending(numbers(await column(page, 4)).reverse()));
  await page.close();
});

// The contrast of a foreground over a background, as WCAG 2.1 defines it.
function contrast(element) {
  const parts = colour => colour.match(/[\d.]+/g).map(Number);
  const linear = v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const luminance = colour => parts(colour).slice(0, 3).reduce((sum, v, i) => sum + linear(v / 255) * [.2126, .7152, .0722][i], 0);
  let behind = element;
  while (parts(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
  const [light, dark] = [luminance(getComputedStyle(element).color), luminance(getComputedStyle(behind).backgroundColor)].sort((a, b) => b - a);
  return (light + .05) / (dark + .05);
}

for (const scheme of ["light", "dark"])
  test(`texts can be read in ${scheme} mode`, async () => {
    const page = await open("all.html", {colorScheme: scheme});
    const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number));
    assert.equal(back[0] < 128, scheme === "dark");
    for (const selector of ["h1", "#title", "#best strong", "#pointed", "#head button", "#body td", ".tag", "#assumptions li", ".bar .name", "#filter"])
      assert.ok(await page.locator(selector).first().evaluate(contrast) >= 4.5, selector);
    if (scheme === "dark") await page.screenshot({path: "dark.png", fullPage: true});
    await page.close();
  });

for (const [width, name] of [[360, "phone"], [768, "tablet"], [1200, "desktop"]])
  test(`nothing is cut off at ${width} px`, async () => {
    const page = await open("all.html", {viewport: {width, height: 800}, isMobile: width < 500, hasTouch: width < 500});
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
    const table = await page.$eval(".scroll", box => ({inside: box.scrollWidth, outside: box.clientWidth}));
    if (width >= 1200) assert.ok(table.inside <= table.outside, `the table is ${table.inside} px wide in ${table.outside}`);
    const boxes = await page.$$eval("#plot text", texts => texts.map(text => {
      const {left, right, top, bottom} = text.getBoundingClientRect();
      return {left, right, top, bottom, text: text.textContent};
    }));
    for (const box of boxes) assert.ok(box.left >= 0 && box.right <= width, `${box.text} leaves the page`);
    if (name !== "tablet") await page.screenshot({path: `${name}.png`, fullPage: true});
    await page.close();
  });

for (const width of [360, 1200])
  test(`the plot's names do not run into each other at ${width} px`, async () => {
    const page = await open("all.html", {viewport: {width, height: 800}});
    const boxes = await page.$$eval("#plot text", texts => texts.map(text => ({text: text.textContent, ...text.getBoundingClientRect().toJSON()})));
    for (const [i, a] of boxes.entries())
      for (const b of boxes.slice(i + 1))
        assert.ok(a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 2 || b.bottom <= a.top + 2, `${a.text} over ${b.text}`);
    const named = await page.$$eval("#plot .label", labels => labels.map(label => label.textContent));
    const best = await page.$$eval("#best strong", names => names.map(name => name.textContent));
    for (const name of best) assert.ok(named.includes(name), `${name} has no name in the plot`);
    await page.close();
  });

test("the plot is drawn again for another width", async () => {
  const page = await open("all.html");
  const before = await page.$eval("#plot svg", svg => svg.viewBox.baseVal.width);
  await page.setViewportSize({width: 500, height: 800});
  await page.waitForFunction(width => document.querySelector("#plot svg").viewBox.baseVal.width < width, before);
  await page.close();
});

test("a machine without a price is in the plot, by its speed", async () => {
  const lane = (await shared.$$eval("#plot text", texts => texts.filter(text => text.textContent === "no price").map(text => text.getBoundingClientRect().y)))[0];
  const own = shared.locator('#plot circle[aria-label^="(this machine)"]');
  assert.equal(await own.count(), 1);
  assert.match(await own.getAttribute("aria-label"), /25\.5 samples\/s, no price known, measured/);
  assert.ok(Math.abs((await own.boundingBox()).y - lane) < 14);
});

test("without any price there is still a plot", async () => {
  const page = await open("unpriced.html");
  assert.deepEqual(page.faults, []);
  assert.equal(await page.locator("#plot circle").count(), 3);
  assert.match(await page.locator("#cost").textContent(), /No type has a known price/);
  assert.match(await page.locator("#assumptions").textContent(), /no on-demand price of .*p5\.48xlarge.* is known by 1999: the first known is of 2023-11/);
  await page.screenshot({path: "unpriced.png", fullPage: true});
  await page.close();
});
