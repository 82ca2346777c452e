// Searches a built site as its page of search does: node site_search.js FOLDER QUERY ...
// Prints a list of page names, best first, for each query.
const fs = require("fs");
const [folder, ...queries] = process.argv.slice(2);
const element = { dataset: { content_root: "" }, addEventListener() {}, childNodes: [] };
globalThis.location = { search: "" };
const context = {
  document: { ...element, documentElement: element, getElementById: () => element },
  window: globalThis,
  DOCUMENTATION_OPTIONS: {},
  SPHINX_HIGHLIGHT_ENABLED: false,
  _ready() {},
  _: (text) => text,
};
const scripts = ["_static/language_data.js", "_static/searchtools.js", "searchindex.js"];
const source = scripts.map((name) => fs.readFileSync(`${folder}/${name}`, "utf8")).join("\n");
const made = `${source}\nreturn Search;`;
const Search = new Function(...Object.keys(context), made)(...Object.values(context));
const found = queries.map((query) => {
  const results = Search._performSearch(...Search._parseQuery(query));
  return results.reverse().map((result) => result[0]);
});
console.log(JSON.stringify(found));
