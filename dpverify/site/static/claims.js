// The filters above the table of claims: made from its columns, kept in the address. Without scripts the table stays whole.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("filters");
  const table = form && document.querySelector("article table");
  if (!table) return;
  const rows = [...table.tBodies[0].rows].map((row) => ({ row, cells: [...row.cells].map((cell) => cell.innerText.trim()) }));
  const asked = new URLSearchParams(location.search);
  const fields = {};
  const add = (name, field) => {
    const label = document.createElement("label");
    label.textContent = name + " ";
    field.name = name;
    label.append(field);
    form.append(label);
    fields[name] = field;
    field.value = asked.get(name) || "";
    field.addEventListener("input", show);
  };
  const count = document.createElement("output");
  const headers = [...table.tHead.rows[0].cells].map((cell) => cell.innerText.trim());
  const choices = ["paper", "kind", "status", "severity", "corrected"].filter((name) => headers.includes(name));
  const show = () => {
    let shown = 0;
    for (const { row, cells } of rows) {
      const fits = choices.every((name) => !fields[name].value || cells[headers.indexOf(name)] === fields[name].value);
      const words = fields.text.value.toLowerCase().split(/\s+/);
      row.hidden = !(fits && words.every((word) => cells.join(" ").toLowerCase().includes(word)));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${rows.length} verdicts`;
    const set = Object.values(fields).filter((field) => field.value).map((field) => [field.name, field.value]);
    history.replaceState(null, "", set.length ? "?" + new URLSearchParams(set) : location.pathname);
  };
  for (const name of choices) {
    const select = document.createElement("select");
    const column = headers.indexOf(name);
    const values = [...new Set(rows.map(({ cells }) => cells[column]))].filter(Boolean);
    if (name !== "paper") values.sort(); // papers stand as in the table, ours last
    select.append(new Option("any", ""), ...values.map((value) => new Option(value, value)));
    add(name, select);
  }
  const text = document.createElement("input");
  text.type = "search";
  add("text", text);
  form.append(count);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
});
