package dumpconf

import "bytes"

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
