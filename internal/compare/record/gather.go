package record

import (
	"slices"
	"unique"

	"dumptool/internal/lang"
)

// Passed are rows of a report which passed and of which nothing else is left than what was
// gathered as they were read. The tensors of each were compared.
type Passed struct {
	Rows int
	// OtherBits is set where both sides of one of them are not the same to the last bit, and
	// Called where one says where its operator was called.
	OtherBits, Called bool
}

// AddPassed adds those of another report.
func (r *Report) AddPassed(o *Report) {
	p := &r.Passed
	p.Rows, p.OtherBits, p.Called = p.Rows+o.Passed.Rows, p.OtherBits || o.Passed.OtherBits, p.Called || o.Passed.Called
	for en, zh := range o.noted {
		r.note(en, zh)
	}
}

// note keeps a sentence of a row of Passed.
func (r *Report) note(en, zh string) {
	if r.noted == nil {
		r.noted = map[string]string{}
	}
	r.noted[en] = zh
}

// title is what a row is called by. Many rows share the texts.
type title struct {
	op, npuOp, kind unique.Handle[string]
	output, round   int
}

// titleOf is that of a row of a round of the report, of round -1 where there is none.
func (r *Report) titleOf(row *Row, round int) title {
	if round >= len(r.Rounds) || r.Rounds[round].Name != row.Round { // rows of a round stand together
		round = slices.IndexFunc(r.Rounds, func(x Round) bool { return x.Name == row.Round })
	}
	return title{unique.Make(row.Op), unique.Make(row.NPUOp), unique.Make(row.Kind), row.Output, round}
}

// passing is what it takes to leave rows out that passed.
type passing struct {
	// on is unset where it is not known yet what the head of the document names.
	on bool
	// places and names are the rows that it names.
	places map[int]bool
	names  map[string]bool
	// first and last are the rows that name those that are first and last.
	first, last link
}

// link is a row, and one that it names.
type link struct{ from, to int }

// beginPassed looks at what the head of a document names.
func (d *document) beginPassed() passing {
	p := passing{on: true, places: map[int]bool{}, names: map[string]bool{}}
	findings := []*Findings{&d.Findings}
	for i := range d.Rounds {
		findings = append(findings, &d.Rounds[i].Findings)
	}
	for _, f := range findings {
		for _, i := range f.single() {
			p.places[*i] = true
		}
	}
	for _, o := range d.origins {
		p.names[o.Row] = true
	}
	if b := d.baseline; b != nil {
		for _, list := range [][]string{b.New, b.Known, b.Worse, b.Fixed} {
			for _, name := range list {
				p.names[name] = true
			}
		}
	}
	return p
}

// pass gives a row away, and reports whether that is all there is to do with it.
func (d *document) pass(i int, row *Row) bool {
	p, round := &d.passed, 0
	if len(d.titles) > 0 {
		round = max(0, d.titles[len(d.titles)-1].round)
	}
	t := d.titleOf(row, round)
	d.titles = append(d.titles, t)
	wanted := d.gather(d.Report, i, row)
	if wanted || t.round < 0 || row.Status != Pass || row.Pair.Status != Pass || !row.Compared() || row.Statistics != nil || row.IsOrigin() || row.Downstream ||
		!row.Undiagnosed.IsZero() || len(row.Contradictions) > 0 || p.places[i] || len(p.names) > 0 && p.names[row.Name()] {
		d.others = append(d.others, i)
		return false
	}
	for _, k := range row.links() {
		if k < p.first.to {
			p.first = link{i, k}
		}
		if k > p.last.to {
			p.last = link{i, k}
		}
	}
	d.Passed.Rows++
	d.Passed.OtherBits = d.Passed.OtherBits || !row.SameBits()
	d.Passed.Called = d.Passed.Called || row.Script != "" || row.Modules != nil
	for _, note := range row.Notes {
		if zh, ok := d.chinese[note.String()]; ok {
			d.note(note.String(), zh)
		}
	}
	return true
}

// checkLinks reports a row that was left out and names one that is not among all rows.
func (p *passing) checkLinks(rows int) error {
	for _, l := range []link{p.first, p.last} {
		if l.to < 0 || l.to > 0 && l.to >= rows {
			return lang.Errorf("row %d names row %d of %d rows", l.from, l.to, rows)
		}
	}
	return nil
}
