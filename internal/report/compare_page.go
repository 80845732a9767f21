package report

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
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

// paged returns a writer of results whose page is made of their document.
func paged[R any](file string, document func(*page.Options) *json.RawMessage, write func(w io.Writer, result R) error) Writer {
	return writes(file, func(w io.Writer, result R, opt Options) error {
		var b bytes.Buffer
		if err := write(&b, result); err != nil {
			return err
		}
		*document(&opt.Page) = b.Bytes()
		return page.Write(w, nil, opt.Page)
	})
}

// overflowPage is where the page has the document of a command of overflow.
func overflowPage(o *page.Options) *json.RawMessage { return &o.Overflow }

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
