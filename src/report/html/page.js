"use strict";
// Adds search, zoom and sorting to a page that is complete without them. Reads no more than the
// page, asks for nothing, and writes names as text only.
(() => {
  const byId = (id) => document.getElementById(id);
  document.documentElement.classList.add("js");

  function size(bytes) {
    let value = bytes;
    for (const unit of ["B", "KiB", "MiB", "GiB"]) {
      if (Math.abs(value) < 1023.95) return (unit === "B" ? value.toFixed(0) : value.toFixed(1)) + " " + unit;
      value /= 1024;
    }
    return value.toFixed(1) + " TiB";
  }
  const change = (bytes) => (bytes < 0 ? "-" : "+") + size(Math.abs(bytes));

  // ---- The flame graph -------------------------------------------------------------------
  const picture = byId("flame-picture");
  const source = byId("flame-data");
  if (picture && source) flame(JSON.parse(source.textContent));

  function flame(data) {
    const ROW = 20, FIELDS = 6, LEAST = 0.6;
    const [PARENT, NAME, BEFORE, AFTER, WIDTH, GROWN] = [0, 1, 2, 3, 4, 5];
    const count = data.nodes.length / FIELDS;
    const at = (node, field) => data.nodes[node * FIELDS + field];
    const children = Array.from({ length: count }, () => []);
    const depth = new Array(count).fill(0);
    for (let node = 1; node < count; node++) {
      children[at(node, PARENT)].push(node);
      depth[node] = depth[at(node, PARENT)] + 1;
    }
    const fields = { both: WIDTH, before: BEFORE, after: AFTER, grown: GROWN };
    let mode = data.pair ? "both" : "after", root = 0, current = 0, wanted = "";
    let shown = [];
    const status = byId("flame-status"), reset = byId("flame-reset"), matches = byId("flame-matches"), search = byId("flame-search");
    byId("flame-controls").hidden = false;
    status.hidden = false;
    picture.tabIndex = 0;
    picture.setAttribute("role", "group");
    picture.setAttribute("aria-label", "Flame graph: arrow keys walk, Enter zooms, Escape shows the whole picture");
    picture.setAttribute("aria-describedby", "flame-status");

    const width = (node) => at(node, fields[mode]);
    const name = (node) => data.names[at(node, NAME)];
    // Without the path of its package, where there is no room for it.
    const brief = (text) => {
      const end = text.search(/[[(]/);
      return text.slice(text.slice(0, end < 0 ? text.length : end).lastIndexOf("/") + 1);
    };
    const isHit = (node) => wanted !== "" && name(node).toLowerCase().includes(wanted);

    function shade(node) {
      if (!data.pair) return "m" + (at(node, NAME) % 5);
      const share = (at(node, AFTER) - at(node, BEFORE)) / Math.max(at(node, WIDTH), 1);
      if (Math.abs(share) <= 0.02) return "eq";
      const step = Math.abs(share) > 0.66 ? 3 : Math.abs(share) > 0.33 ? 2 : 1;
      return (share > 0 ? "g" : "s") + step;
    }

    function describe(node) {
      const share = (100 * width(node) / Math.max(width(0), 1)).toFixed(1) + " %";
      const figures = data.pair
        ? change(at(node, AFTER) - at(node, BEFORE)) + " (" + size(at(node, BEFORE)) + " → " + size(at(node, AFTER)) + ")"
        : size(at(node, AFTER));
      return name(node) + ": " + figures + ", " + share + " of the picture";
    }

    function svg(tag, attributes) {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const key in attributes) element.setAttribute(key, attributes[key]);
      return element;
    }

    function draw() {
      const room = Math.max(picture.clientWidth - 16, 200);
      const whole = Math.max(width(root), 1);
      const graph = svg("svg", { class: "icicle", width: "100%", role: "presentation" });
      shown = [];
      let deepest = 0;
      const place = (node, start, share, row) => {
        if (share * room < LEAST) return;
        const box = svg("svg", { x: start * 100 + "%", y: row * ROW, width: share * 100 + "%", height: ROW - 1, "data-node": node });
        const title = svg("title", {});
        title.textContent = describe(node);
        const text = svg("text", { x: 4, y: 14 });
        if (share * room > 24) text.textContent = name(node).length * 7.3 < share * room ? name(node) : brief(name(node));
        box.append(title, svg("rect", { class: shade(node), width: "100%", height: "100%" }), text);
        if (wanted !== "") box.classList.add(isHit(node) ? "hit" : "dim");
        if (node === current) box.classList.add("current");
        graph.append(box);
        shown.push(node);
        deepest = Math.max(deepest, row);
      };
      // The way from the whole down to the zoomed frame, then everything below it.
      const way = [];
      for (let node = root; node !== 0; node = at(node, PARENT)) way.unshift(at(node, PARENT));
      way.forEach((node, row) => place(node, 0, 1, row));
      const open = [[root, 0, 1, way.length]];
      while (open.length) {
        const [node, start, share, row] = open.pop();
        if (share * room < LEAST || width(node) <= 0) continue;
        place(node, start, share, row);
        let next = start;
        for (const child of children[node]) {
          const part = width(child) / whole;
          open.push([child, next, part, row + 1]);
          next += part;
        }
      }
      graph.setAttribute("height", (deepest + 1) * ROW);
      picture.replaceChildren(graph);
      reset.disabled = root === 0;
    }

    function tell(node) { status.textContent = describe(node); }
    function choose(node) { current = node; tell(node); draw(); }
    function zoom(node) { root = node; current = node; tell(node); draw(); }
    const nodeOf = (event) => {
      const box = event.target.closest("[data-node]");
      return box ? Number(box.dataset.node) : null;
    };
    picture.addEventListener("click", (event) => {
      const node = nodeOf(event);
      if (node !== null) zoom(node);
    });
    picture.addEventListener("mousemove", (event) => {
      const node = nodeOf(event);
      if (node !== null) tell(node);
    });
    picture.addEventListener("keydown", (event) => {
      const sound = (nodes) => nodes.filter((node) => shown.includes(node));
      const beside = (step) => {
        const all = current === 0 ? [0] : sound(children[at(current, PARENT)]);
        return all[all.indexOf(current) + step];
      };
      let target;
      switch (event.key) {
        case "ArrowDown": target = sound(children[current])[0]; break;
        case "ArrowUp": target = current === 0 ? undefined : at(current, PARENT); break;
        case "ArrowLeft": target = beside(-1); break;
        case "ArrowRight": target = beside(1); break;
        case "Enter": case " ": event.preventDefault(); zoom(current); return;
        case "Escape": zoom(0); return;
        default: return;
      }
      event.preventDefault();
      if (target !== undefined) choose(target);
    });
    reset.addEventListener("click", () => zoom(0));
    search.addEventListener("input", () => {
      wanted = search.value.trim().toLowerCase();
      const hits = [];
      // A hit below another hit is part of it.
      const open = [0];
      while (open.length) {
        const node = open.pop();
        if (isHit(node)) hits.push(node);
        else open.push(...children[node]);
      }
      const bytes = hits.reduce((sum, node) => sum + width(node), 0);
      matches.textContent = wanted === "" ? "" : hits.length === 0 ? "nothing found"
        : hits.length + (hits.length === 1 ? " place" : " places") + ", " + size(bytes) + ", " + (100 * bytes / Math.max(width(0), 1)).toFixed(1) + " %";
      draw();
    });
    for (const radio of document.querySelectorAll("input[name=mode]")) {
      radio.addEventListener("change", () => {
        mode = radio.value;
        if (width(root) <= 0) root = 0;
        draw();
      });
    }
    window.addEventListener("resize", draw);
    draw();
    // From a site to the stacks that lead to it.
    for (const code of document.querySelectorAll("#sites-table td.name code")) {
      if (!data.names.includes(code.textContent)) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "find";
      button.textContent = "show its callers";
      button.addEventListener("click", () => {
        search.value = code.textContent;
        search.dispatchEvent(new Event("input"));
        byId("flame").scrollIntoView();
        search.focus({ preventScroll: true });
      });
      code.parentElement.append(button);
    }
  }

  // ---- The table of sites ----------------------------------------------------------------
  const table = byId("sites-table");
  if (table) sites(table);

  function sites(table) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const filter = byId("sites-search"), counted = byId("sites-count");
    byId("sites-controls").hidden = false;
    const value = (row, column) => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? cell.textContent.toLowerCase() : Number(cell.dataset.v);
    };
    Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
      if (rows.length === 0 || rows[0].cells[column].querySelector("svg")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const isFirst = head.getAttribute("aria-sort") === null;
        const isNumber = head.classList.contains("num");
        // Numbers are of interest from the top, names from the beginning.
        const isRising = isFirst ? !isNumber : head.getAttribute("aria-sort") === "descending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", isRising ? "ascending" : "descending");
        rows.sort((a, b) => {
          const [x, y] = [value(a, column), value(b, column)];
          return (x < y ? -1 : x > y ? 1 : 0) * (isRising ? 1 : -1);
        });
        body.append(...rows);
      });
    });
    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      let shown = 0;
      for (const row of rows) {
        row.hidden = wanted !== "" && !row.cells[0].textContent.toLowerCase().includes(wanted);
        if (!row.hidden) shown++;
      }
      counted.textContent = wanted === "" ? "" : shown + " of " + rows.length;
    });
  }

  // What is folded in is printed too.
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
})();
