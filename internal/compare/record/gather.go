package record

import (
	"io"

	"dumptool/internal/lang"
)

// Passed are rows of a report which passed and of which nothing else is left than what was
// gathered as they were read.
type Passed struct {
	// Rows counts them. The tensors of each were compared.
	Rows int
	// OtherBits is set where both sides of one of them are not the same to the last bit.
	OtherBits bool
}

// ReadGathering is Read for those who gather what they want of rows as these are read, of
// which there may be more than memory has room for: gather is given each row, with its
// place, and says whether the report shall have it. The others are counted in Passed; rows
// that did not pass, and those that the head of the document names, are not among them. Of
// the report gather sees what stands before the rows: all that Write writes. What
// compare.json shows alone is passed over.
func ReadGathering(r io.Reader, gather func(r *Report, i int, row *Row) bool) (*Report, error) {
	return readReport(r, reading{gather: gather, less: true})
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
	p := &d.passed
	wanted := d.gather(d.Report, i, row)
	if wanted || row.Status != Pass || row.Pair.Status != Pass || !row.Compared() || row.Statistics != nil || row.IsOrigin() || row.Downstream ||
		p.places[i] || len(p.names) > 0 && p.names[row.Name()] {
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
