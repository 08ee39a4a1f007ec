for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") !== "descending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => value(a, column).localeCompare(value(b, column), "en", { numeric: false }));
    if (rows.every((row) => row.cells[column].dataset.value)) {
      rows.sort((a, b) => value(a, column) - value(b, column));
    }
    if (down) rows.reverse();
    table.tBodies[0].append(...rows);
  }));
}
