package overflow

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
)

// List names the operators that overflow and have to keep a wider type.
type List struct {
	// Lines are names: operators of the original graph, as ATC --keep_dtype reads them, or modules of PyTorch.
	Lines []string
	// Types are for a file of ATC --modify_mixlist, which holds types alone; nil for lines.
	Types []string
	// Messages say what the list lacks, and what it widens besides.
	Messages []batch.Message
}

// List lists what overflows: types for a name that ends with .json, else names.
func (r *HeadroomReport) List(path string) (*List, error) {
	l, isJSON, lacks, widened := &List{}, strings.HasSuffix(strings.ToLower(path), ".json"), 0, 0
	for i := range r.Rows {
		h := &r.Rows[i]
		if isJSON && msprobe.ParseName(h.OpName).Direction != "" {
			return nil, lang.Errorf("%s: --modify_mixlist needs CANN operator types, and this run has framework calls: a name without .json gets their modules", path)
		}
		if h.Status != Overflows {
			continue
		}
		names := h.listNames()
		if len(names) == 0 {
			lacks++
		}
		l.Lines, l.Types = append(l.Lines, names...), append(l.Types, h.OpType)
	}
	l.Lines, l.Types = sortedSet(l.Lines), sortedSet(l.Types)
	if !isJSON {
		if l.Types = nil; lacks > 0 {
			l.Messages = []batch.Message{batch.Warnf("%s: the list lacks %s outside of the modules of the dump", path, lang.CountText(lacks, "call"))}
		}
		return l, nil
	}
	for i := range r.Rows {
		if h := &r.Rows[i]; h.Status != Overflows && slices.Contains(l.Types, h.OpType) {
			widened++
		}
	}
	l.Messages = []batch.Message{batch.Infof("%s: %s; this list also widens %s that do not overflow", path, lang.CountText(len(l.Types), "type"), lang.CountText(widened, "operator"))}
	return l, nil
}

// sortedSet sorts texts and leaves out empty and repeated ones.
func sortedSet(texts []string) []string {
	all := slices.DeleteFunc(append([]string{}, texts...), func(s string) bool { return s == "" })
	slices.Sort(all)
	return slices.Compact(all)
}

// listNames returns the lines for an operator. For a call this is its module, or the nearest module around it; for an
// operator of a graph, the operators of the user's model from which the compiler made it, or its own name if neither
// a graph nor the dump records them.
func (h *Headroom) listNames() (all []string) {
	if msprobe.ParseName(h.OpName).Direction != "" {
		for _, api := range slices.Backward(append(slices.Clone(h.Modules), h.OpName)) {
			if place := modulePath(api); place != "" {
				return []string{place}
			}
		}
		return nil
	}
	for _, g := range h.row.round.GraphNodes(h.row.op) {
		all = append(all, g.Attributes[graph.OriginalNames].Values...)
	}
	for _, o := range h.row.op.Origins {
		all = append(all, o.Op)
	}
	if all = sortedSet(all); len(all) == 0 {
		return []string{h.OpName}
	}
	return all
}

// Write writes the list.
func (l *List) Write(w io.Writer) error {
	if l.Types != nil {
		type part struct {
			Add []string `json:"to-add"`
		}
		text, err := json.MarshalIndent(map[string]part{"black-list": {l.Types}}, "", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}
	for _, name := range l.Lines {
		if _, err := io.WriteString(w, name+"\n"); err != nil {
			return err
		}
	}
	return nil
}
