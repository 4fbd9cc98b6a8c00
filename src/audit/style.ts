/** How the page looks: on screens light and dark, wide and narrow, and on paper. */
export const STYLE = `
:root { --paper: #fbfaf8; --panel: #fff; --ink: #1d2327; --dim: #5e6970; --line: #dfe2e0;
  --error: #b3261e; --error-soft: #fbe4e1; --warning: #8a5a00; --warning-soft: #fdf0cf; --info: #1f5f99; --info-soft: #e0eefa; --fine: #1c7447; --fine-soft: #e2f3e9; }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #14181b; --panel: #1c2226; --ink: #e4e8ea; --dim: #98a4ab; --line: #323a40;
  --error: #ff9c92; --error-soft: #4a211d; --warning: #f0c15c; --warning-soft: #43341a; --info: #8cc3f5; --info-soft: #1c354c; --fine: #7fd3a5; --fine-soft: #1a3a2a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
main { max-width: 66rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { margin: 0; font-size: 1.9rem; line-height: 1.2; letter-spacing: -.01em; }
h2 { margin: 2.5rem 0 .75rem; font-size: 1.15rem; }
p { margin: .25rem 0; }
.kind, .about, .dim { color: var(--dim); }
.kind { font-size: .85rem; text-transform: uppercase; letter-spacing: .08em; }
.mark { display: inline-block; width: .62em; height: .62em; border-radius: 50%; margin-right: .4em; background: currentColor; }
.mark.error { color: var(--error); } .mark.warning { color: var(--warning); } .mark.fine { color: var(--fine); }
.place { font-weight: 600; overflow-wrap: anywhere; }
.detail { white-space: pre-line; }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem; }
.card { flex: 1 1 8.5rem; background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem; }
.card b { display: block; font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.card span { color: var(--dim); }
.card.error { background: var(--error-soft); border-color: var(--error); } .card.error b { color: var(--error); }
.card.warning { background: var(--warning-soft); border-color: var(--warning); } .card.warning b { color: var(--warning); }
.card.info b { color: var(--info); }
.none { color: var(--fine); }
.group { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; margin: .6rem 0; padding: .5rem .9rem; }
.group summary { cursor: pointer; overflow-wrap: anywhere; }
.group ul { list-style: none; margin: .6rem 0 .3rem; padding: 0; }
.more > summary { cursor: pointer; color: var(--dim); padding: .4rem 0; border-top: 1px solid var(--line); }
.group li { border-top: 1px solid var(--line); padding: .55rem 0; }
.count { float: right; font-variant-numeric: tabular-nums; font-weight: 600; }
.badge { display: inline-block; border-radius: 1rem; padding: 0 .6rem; font-size: .82rem; }
.badge.error { background: var(--error-soft); color: var(--error); } .badge.warning { background: var(--warning-soft); color: var(--warning); } .badge.info { background: var(--info-soft); color: var(--info); }
pre { margin: .35rem 0 0; padding: .5rem .7rem; background: var(--paper); border: 1px solid var(--line); border-radius: .35rem; font: 12.5px/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; background: var(--panel); }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 500; }
thead th { color: var(--dim); font-size: .94em; border-bottom: 1px solid var(--line); vertical-align: bottom; }
/* Collapsed borders would not go along with the first column, which stays where it is. */
.matrix { font-size: .86rem; border-collapse: separate; border-spacing: 0; } .matrix th, .matrix td { padding: .18rem .45rem; }
.matrix thead th { max-width: 10rem; padding: .5rem .45rem; text-align: center; }
.matrix th:first-child { position: sticky; left: 0; min-width: 14rem; background: var(--panel); text-align: left; white-space: nowrap; }
.matrix tbody tr + tr > * { border-top: 1px solid var(--line); }
.cell { text-align: center; white-space: nowrap; font-variant-numeric: tabular-nums; }
.cell.fine { color: var(--fine); } .cell.error, .cell.failed { background: var(--error-soft); color: var(--error); font-weight: 600; }
.cell.warning { background: var(--warning-soft); color: var(--warning); font-weight: 600; } .cell.info { background: var(--info-soft); color: var(--info); font-weight: 600; }
/* For eyes, screens and printers that do not tell the colours apart. */
.cell.error::before { content: "✗ "; } .cell.warning::before { content: "△ "; } .cell.info::before { content: "i "; }
.legend .cell { display: inline-block; min-width: 1.6em; margin-left: .6em; border-radius: .2rem; }
.trend { display: block; width: 100%; height: auto; background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; }
.trend line { stroke: var(--line); } .trend .label { font-size: 12px; fill: var(--error); font-weight: 700; text-anchor: middle; }
.trend .error { fill: var(--error); } .trend .warning { fill: var(--warning); } .trend .info { fill: var(--info); } .trend .fine { fill: var(--fine); } .trend .hit { fill: transparent; }
.checks th, .checks td { padding: .4rem .7rem; vertical-align: top; } .checks tbody tr + tr > * { border-top: 1px solid var(--line); }
.checks tbody th .dim { display: block; font-weight: 400; font-size: .9rem; }
.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
@media (max-width: 40rem) { main { padding: 1.25rem .75rem 3rem; } h1 { font-size: 1.5rem; } .wide { display: none; } .trend .label { font-size: 24px; } .matrix { font-size: .74rem; } .matrix th:first-child { min-width: 0; } .checks th, .checks td { padding: .4rem .5rem; } .checks th { overflow-wrap: anywhere; } .checks tbody th .dim { display: none; } }
/* Paper cannot be scrolled: the columns share its width, however many they are. */
@media print { .scroll { overflow: visible; } .matrix { table-layout: fixed; overflow-wrap: anywhere; font-size: .64rem; } .matrix th:first-child { width: 11rem; min-width: 0; white-space: normal; } .matrix th + th, .matrix td { padding: .18rem 0; } .matrix thead th + th { writing-mode: vertical-rl; text-align: right; vertical-align: middle; line-height: 1; padding: .4rem 0; } .mark, .badge, .card, .cell { print-color-adjust: exact; } .group::details-content { content-visibility: visible; } .group li, tr { break-inside: avoid; } h2 { break-after: avoid; } body { background: none; } }
`;
