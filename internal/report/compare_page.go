package report

import (
	"bytes"
	"cmp"
	"io"
	"slices"

	"dumptool/internal/compare/determinism"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/overflow"
	"dumptool/internal/perf"
	"dumptool/internal/report/page"
	"dumptool/internal/report/plot"
)

// pageFormat is the format of pages for a browser.
const pageFormat = "html"

// writePage writes a comparison as a page.
func writePage(w io.Writer, r *record.Report, opt Options) error {
	return page.Write(w, &page.Comparison{Report: r, Headline: verdictOf(r).Text(), Facts: pageFacts(r), Labels: CompareLabels(r), Files: filesBeside(r, opt.beside)}, opt.Page)
}

// pageFacts are the facts of the text that the page has no cards for, in both languages.
func pageFacts(r *record.Report) (all []page.Fact) {
	of := func(l Lang) []fact {
		t := Text{Lang: l}
		return append(t.meaningFacts(r), t.statisticsFacts(r)...)
	}
	chinese := of(Chinese)
	for i, f := range of(English) {
		x := page.Fact{Label: lang.Text{EN: f.label, ZH: chinese[i].label}}
		for k, line := range f.lines {
			x.Lines = append(x.Lines, lang.Text{EN: line, ZH: chinese[i].lines[k]})
		}
		all = append(all, x)
	}
	return all
}

// writeDeterminismPage writes what compare determinism found as a page.
func writeDeterminismPage(w io.Writer, d *determinism.Report, opt Options) (err error) {
	opt.Page.Determinism, err = documentOf(writeDocument[*determinism.Report], d)
	return cmp.Or(err, page.Write(w, nil, opt.Page))
}

// writeAnalysisPage writes overflow records as a page.
func writeAnalysisPage(w io.Writer, r *overflow.Report, opt Options) (err error) {
	opt.Page.Overflow, err = documentOf(writeDocument[*overflow.Report], r)
	return cmp.Or(err, page.Write(w, nil, opt.Page))
}

// writeScanPage writes what a scan found as a page.
func writeScanPage(w io.Writer, r *overflow.ScanReport, opt Options) (err error) {
	opt.Page.Overflow, err = documentOf(writeDocument[*overflow.ScanReport], r)
	return cmp.Or(err, page.Write(w, nil, opt.Page))
}

// writePerfPage writes what perf found as a page.
func writePerfPage(w io.Writer, r *perf.Report, opt Options) (err error) {
	opt.Page.Perf, err = documentOf(WritePerfJSON, r)
	return cmp.Or(err, page.Write(w, nil, opt.Page))
}

// documentOf is the document of a result, which pages are made of.
func documentOf[R any](write func(w io.Writer, result R) error, result R) ([]byte, error) {
	var b bytes.Buffer
	err := write(&b, result)
	return b.Bytes(), err
}

// filesBeside are, by row, those of the written files that show its operator.
func filesBeside(r *record.Report, written []record.File) map[int][]string {
	names := map[string]bool{}
	for _, f := range written {
		names[f.Name] = true
	}
	_, stems, _ := operatorStems(r, true)
	files := map[int][]string{}
	for i, stem := range stems {
		for _, suffix := range slices.Concat([]string{".csv"}, plot.Suffixes()) {
			if names[stem+suffix] {
				files[i] = append(files[i], stem+suffix)
			}
		}
	}
	return files
}
