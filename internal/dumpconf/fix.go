package dumpconf

import (
	"bytes"

	"dumptool/internal/jsonpos"
)

// maxRounds bounds Repair. A round fixes what the list of problems has room
// for; each but the last makes the text better.
const maxRounds = 64

// maxRepaired bounds the bytes that the rounds of Repair read together: what
// takes more has faults in the hundred thousands, and another run goes on.
const maxRepaired = 32 << 20

// Fix applies the edits of findings to the text they were found in. Where
// edits overlap the larger one counts, and the first of equals.
func Fix(src []byte, findings []Finding) []byte {
	var edits []jsonpos.Edit
	for i := range findings {
		for _, e := range findings[i].Edits {
			if e.Offset >= 0 && e.Length >= 0 && e.Length <= len(src)-e.Offset {
				edits = append(edits, e)
			}
		}
	}
	return jsonpos.Apply(src, edits)
}

// Repair checks and fixes a text until nothing is left that can be fixed, and
// returns the text and its last report. It never makes errors more, and text
// that it changed is JSON.
func Repair(name string, src []byte, opt Options) ([]byte, *Report) {
	report := Check(name, src, opt)
	for done := 0; done < maxRounds && done*len(src) < maxRepaired; done++ {
		// A misspelled key that gets its right name may reveal what is wrong
		// with its value: then the warning stays, for the user to decide.
		fixed, after := tryFix(src, report, opt, Info)
		if after.Count(Error) > report.Count(Error) {
			fixed, after = tryFix(src, report, opt, Error)
		}
		if bytes.Equal(fixed, src) || after.Count(Error) > report.Count(Error) || !after.Doc.Valid() {
			break
		}
		src, report = fixed, after
	}
	return src, report
}

// tryFix applies the edits of findings that are at least so severe.
func tryFix(src []byte, report *Report, opt Options, least Severity) ([]byte, *Report) {
	fixed := Fix(src, report.findings(func(f *Finding) bool { return f.Severity >= least }))
	if bytes.Equal(fixed, src) {
		return src, report
	}
	return fixed, Check(report.Name, fixed, opt)
}

// Stdin is the name of a text without a file.
const Stdin = "-"

// Checks are the checks of several files.
type Checks struct {
	Files  []FileCheck
	Failed []string // files that could not be read or written, and why
}

// FileCheck is a file that was checked, and perhaps repaired.
type FileCheck struct {
	Name   string
	Before *Report
	// After is the report of the repaired text, nil when no repair was asked for.
	After         *Report
	Source, Fixed []byte // the texts; without repair nil
	Written       bool   // the file has the repaired text
}

// RepairFile checks and repairs a text, and keeps both.
func RepairFile(name string, src []byte, opt Options) FileCheck {
	f := FileCheck{Name: name, Before: Check(name, src, opt), Source: src}
	f.Fixed, f.After = Repair(name, src, opt)
	return f
}

// Report returns the report of the file as it is now.
func (f *FileCheck) Report() *Report {
	if f.Written {
		return f.After
	}
	return f.Before
}

// Changed reports whether a repair changes the text.
func (f *FileCheck) Changed() bool { return f.After != nil && !bytes.Equal(f.Source, f.Fixed) }

// Count returns the number of findings of a severity in all files.
func (c *Checks) Count(s Severity) int {
	n := 0
	for i := range c.Files {
		n += c.Files[i].Report().Count(s)
	}
	return n
}

// Bad returns the number of files with errors or warnings.
func (c *Checks) Bad() int {
	n := 0
	for i := range c.Files {
		if worst, found := c.Files[i].Report().Worst(); found && worst >= Warning {
			n++
		}
	}
	return n
}

// Fixable returns the number of findings that a repair would change.
func (c *Checks) Fixable() int {
	n := 0
	for i := range c.Files {
		n += len(c.Files[i].Report().findings(func(f *Finding) bool { return len(f.Edits) > 0 }))
	}
	return n
}
