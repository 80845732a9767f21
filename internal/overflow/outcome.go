package overflow

import (
	"fmt"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
)

// Outcome is how the scan of so many files ended.
func (r *ScanReport) Outcome(files int) batch.Outcome {
	found := fmt.Sprintf("bad tensors in %d of %s", r.BadFiles, lang.Count(r.Files, "file"))
	switch n := unread(r.Problems); {
	case r.Files == 0 && n == 0:
		return batch.Outcomef(batch.Nothing, "neither dumps nor arrays among %s", lang.Count(files, "file"))
	case n == 1:
		return batch.Outcomef(batch.Incomplete, "%s, 1 file or tensor could not be read", found)
	case n > 1:
		return batch.Outcomef(batch.Incomplete, "%s, %d files or tensors could not be read", found, n)
	}
	var o batch.Outcome
	if r.BadFiles > 0 {
		o = batch.Outcomef(batch.Found, "bad tensors found").AsShown()
	}
	read := lang.Count(r.Tensors, "tensor") + " read"
	if r.Tables > 0 {
		read += fmt.Sprintf(", %d of them as statistics", r.Tables)
	}
	o.Messages = []batch.Message{batch.Infof("%s, %s", found, read)}
	return o
}

// Outcome is how the analysis ended: what could not be read, or the overflows. What
// usually explains that there are none are hints in the language of say, which is nil
// where the report has them.
func (r *Report) Outcome(say func(lang.Text) string) batch.Outcome {
	unreadable, records := r.Unread(), lang.Count(r.Total, "overflow record")
	switch {
	case r.Total == 0 && r.Dumps == 0 && unreadable == 0 && !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Empty }):
		return batch.Outcomef(batch.Nothing, "neither overflow records nor dumps among %s", lang.Count(r.Files, "file"))
	case unreadable > 0:
		return batch.Outcomef(batch.Incomplete, "%s found, %s could not be read", records, lang.Count(unreadable, "file"))
	case r.Total > 0:
		return batch.Outcomef(batch.Found, "%s found", records).AsShown()
	}
	o := batch.Outcome{Messages: []batch.Message{batch.Infof("no overflow recorded, %s seen", lang.Count(r.Dumps, "operator dump"))}}
	if say != nil {
		for _, t := range NothingFound {
			o.Messages = append(o.Messages, batch.Hint(say(t)))
		}
	}
	return o
}
