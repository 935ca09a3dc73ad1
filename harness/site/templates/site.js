// SPDX-License-Identifier: Apache-2.0
// The page is whole without this: it adds filters, and values under the pointer.
"use strict";

(function () {
  if (typeof document === "undefined") return;
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const get = (name) => document.getElementById(name);
  const all = (what, where) => Array.from((where || document).querySelectorAll(what));

  // a link may lead into something that is folded
  function unfold() {
    const target = location.hash.length > 1 && get(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    // a row or an item of a list is looked at with its neighbours
    target.scrollIntoView({block: /^(TR|LI)$/.test(target.tagName) ? "center" : "start"});
  }
  addEventListener("hashchange", unfold);
  unfold();

  // claims
  const claims = all("tr[data-kind]");
  function filter() {
    const kind = get("claim-verdict").value, source = get("claim-source").value;
    const words = get("claim-words").value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const line of claims) {
      const text = line.textContent.toLowerCase();
      line.hidden = !!(kind && line.dataset.kind !== kind) || !!(source && line.dataset.source !== source) ||
        !words.every((word) => text.includes(word));
      shown += !line.hidden;
    }
    get("claim-count").textContent = shown + " of " + claims.length + " claims";
  }
  if (claims.length) {
    for (const name of ["claim-verdict", "claim-source", "claim-words"]) get(name).addEventListener("input", filter);
    get("claim-controls").hidden = false;
    filter();
  }

  // a table that is wider than the window says so
  const wide = new ResizeObserver((entries) => {
    for (const one of entries) one.target.classList.toggle("more", one.target.scrollWidth > one.target.clientWidth + 1);
  });
  all(".scroll").forEach((one) => wide.observe(one));

  // values under the pointer
  const NS = "http://www.w3.org/2000/svg", tip = get("tip");
  const scaled = (value, axis) => axis.scale === "log" ? Math.log10(value) : value;
  function place(value, axis, start, length, turned) {
    const [low, high] = axis.limits.map((limit) => scaled(limit, axis));
    const share = (scaled(value, axis) - low) / (high - low);
    return start + length * (turned ? 1 - share : share);
  }
  function element(name, attributes, parent) {
    const made = document.createElementNS(NS, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    parent.appendChild(made);
    return made;
  }
  const short = (value) => Math.abs(value) >= 1e4 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));

  function answer(figure, marks) {
    const canvas = figure.querySelector(".canvas"), svg = canvas && canvas.querySelector("svg");
    if (!svg) return;
    const points = [];
    marks.series.forEach((series, number) => {
      const axes = marks.axes[series.axes], [left, top, width, height] = axes.box;
      series.x.forEach((x, at) => {
        const y = series.y[at];
        if ((axes.x.scale === "log" && x <= 0) || (axes.y.scale === "log" && y <= 0)) return;
        const px = place(x, axes.x, left, width, false), py = place(y, axes.y, top, height, true);
        if (px < left - 2 || px > left + width + 2 || py < top - 2 || py > top + height + 2) return;
        const plain = axes.x.label.split(" (")[0] + ": " + short(x) + "; " + axes.y.label.split(" (")[0] + ": " + short(y);
        points.push({px, py, number, series, text: series.name + ": " + (series.notes[at] || plain)});
      });
    });
    if (!points.length) return;
    // the signs of the figure by their place: one that is picked out keeps its shape
    const signs = all("use[x]", svg).map((one) => [Number(one.getAttribute("x")), Number(one.getAttribute("y")), one]);
    function signOf(point) {
      const far = ([x, y]) => Math.hypot(x - point.px, y - point.py);
      const near = signs.reduce((best, one) => far(one) < far(best) ? one : best, [Infinity, 0, null]);
      return far(near) < 0.5 ? near[2] : null;
    }
    const overlay = element("g", {class: "overlay"}, svg), chosen = element("g", {}, overlay);
    const ring = element("circle", {r: 3.4, visibility: "hidden"}, overlay);
    let current = -1, only = null;
    const open = () => points.filter((one) => only === null || one.series.name === only);
    function show(one, x, y) {
      ring.setAttribute("cx", one.px); ring.setAttribute("cy", one.py); ring.setAttribute("visibility", "visible");
      tip.textContent = one.text;
      tip.hidden = false;
      const box = tip.getBoundingClientRect();
      tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
      tip.style.top = Math.max(4, y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + "px";
      current = points.indexOf(one);
    }
    function hide() { ring.setAttribute("visibility", "hidden"); tip.hidden = true; }
    function onScreen(one) {
      const spot = new DOMPoint(one.px, one.py).matrixTransform(svg.getScreenCTM());
      return [spot.x, spot.y];
    }
    canvas.addEventListener("pointermove", (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      let best = null, least = 400;
      for (const one of open()) {
        const far = (one.px - at.x) ** 2 + (one.py - at.y) ** 2;
        if (far < least) { least = far; best = one; }
      }
      best ? show(best, event.clientX, event.clientY) : hide();
    });
    canvas.addEventListener("pointerleave", hide);
    canvas.addEventListener("blur", hide);
    canvas.addEventListener("keydown", (event) => {
      const mine = open(), now = Math.max(0, mine.indexOf(points[current]));
      let next;
      if (event.key === "ArrowRight") next = Math.min(mine.length - 1, current < 0 ? 0 : now + 1);
      else if (event.key === "ArrowLeft") next = Math.max(0, now - 1);
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        const series = [...new Set(mine.map((one) => one.number))], step = event.key === "ArrowDown" ? 1 : -1;
        const place = series.indexOf(mine[now].number) + step;
        if (place < 0 || place >= series.length) return;
        next = mine.findIndex((one) => one.number === series[place]);
      } else if (event.key === "Escape") { hide(); return; } else return;
      event.preventDefault();
      show(mine[next], ...onScreen(mine[next]));
    });
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "group");
    canvas.setAttribute("aria-label", "Values of the figure: arrow keys walk from point to point and from line to line");

    const names = [...new Set(marks.series.map((series) => series.name))];
    if (names.length < 2) return;
    const chips = document.createElement("ul");
    chips.className = "chips";
    chips.setAttribute("aria-label", "Show one alone");
    for (const name of names) {
      const item = document.createElement("li"), button = document.createElement("button");
      button.type = "button"; button.textContent = name; button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => {
        only = only === name ? null : name;
        all("button", chips).forEach((one) => one.setAttribute("aria-pressed", String(one.textContent === only)));
        canvas.classList.toggle("dimmed", only !== null);
        chosen.replaceChildren();
        hide();
        for (const number of new Set(open().map((one) => one.number))) {
          if (only === null) break;
          const mine = points.filter((one) => one.number === number), series = marks.series[number];
          if (series.line) element("polyline", {stroke: series.colour, points: mine.map((one) => one.px + "," + one.py).join(" ")}, chosen);
          else for (const one of mine) {
            const sign = signOf(one);
            if (sign) chosen.appendChild(sign.cloneNode());
            else element("circle", {class: "dot", cx: one.px, cy: one.py, r: 2.2, style: "fill:" + series.colour}, chosen);
          }
        }
      });
      item.appendChild(button);
      chips.appendChild(item);
    }
    canvas.after(chips);
  }
  for (const figure of all("figure.drawn")) if (data.marks[figure.dataset.key]) answer(figure, data.marks[figure.dataset.key]);
})();
