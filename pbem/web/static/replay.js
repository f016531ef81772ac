// The arrow keys turn the pages of a replay. Without this script the links do.
"use strict";
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, textarea, select")) return;
  const id = { ArrowLeft: "go-back", ArrowRight: "go-next", Home: "go-first", End: "go-last" }[event.key];
  const link = id && document.getElementById(id);
  if (link) {
    event.preventDefault();
    link.click();
  }
});
