package sidefile

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/misfit"
	"dumptool/internal/pickle"
)

// Order is a list of operators in execution order, from a file.
type Order struct {
	// Source is the kind and the name of the file.
	Source string
	// Names are the operators; a repeated operator keeps its first place.
	Names []string
	// Misfits are lines of MindSpore's order that are not full names of operators; Names has their
	// first column nevertheless.
	Misfits misfit.List

	index filename.Index
}

// NewOrder makes an order of names.
func NewOrder(source string, names []string) *Order {
	o := &Order{Source: source}
	for _, name := range names {
		if _, added := o.index.Add(name, len(o.Names)); added {
			o.Names = append(o.Names, name)
		}
	}
	return o
}

// Find returns the position, from 0, of an operator: of the first name of names that the order has, exact or
// normalised as in file names.
func (o *Order) Find(names ...string) (int, bool) { return o.index.Find(names...) }

// ReadRuntime reads a file like node_runtime.file of the HPAA tools: lines of a name and a number,
// separated by comma, tab, blank or colon, and sorts them by the number (stable). A file without
// numbers is a list in execution order. A first line without number, before lines with numbers, is
// a title. file is the name for Source; errors do not have it.
//
// A pickled dict of numbers or list of names is accepted too.
func ReadRuntime(r io.Reader, file string) (*Order, error) {
	data, err := readAll(r)
	var nodes []timedNode
	switch {
	case err != nil:
	case len(data) > 0 && data[0] == pickleStart:
		nodes, err = pickledNodes(data)
	default:
		nodes, err = parseNodes(string(data))
	}
	if err != nil {
		return nil, lang.Errorf("runtime file: %w", err)
	}
	slices.SortStableFunc(nodes, func(a, b timedNode) int { return a.at.Compare(b.at) })
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.name
	}
	return NewOrder("runtime file "+file, names), nil
}

// pickleStart is the first byte of a pickle of protocol 2 or later.
const pickleStart = 0x80

// timedNode is an operator with its time.
type timedNode struct {
	name string
	at   Moment
}

// Moment is a finite number. An integer stays exact, because nanoseconds do not fit a float64.
type Moment struct {
	whole bool
	n     int64
	f     float64
}

// Compare compares instants exactly.
func (a Moment) Compare(b Moment) int {
	switch {
	case a.whole && b.whole:
		return cmp.Compare(a.n, b.n)
	case a.whole || b.whole:
		// Rounding would make the order inconsistent.
		return a.rational().Cmp(b.rational())
	}
	return cmp.Compare(a.f, b.f)
}

func (a Moment) rational() *big.Float {
	if a.whole {
		return new(big.Float).SetInt64(a.n)
	}
	return big.NewFloat(a.f)
}

// ParseInstant parses a finite number.
func ParseInstant(s string) (Moment, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Moment{whole: true, n: n}, true
	}
	f, err := strconv.ParseFloat(s, 64)
	finite := err == nil && f-f == 0
	return Moment{f: f}, finite && strings.ContainsAny(s[:1], "+-.0123456789")
}

// parseNodes parses the lines of a runtime file.
func parseNodes(text string) ([]timedNode, error) {
	var nodes, list []timedNode
	title := "" // first line without number
	line := 0
	for l := range strings.Lines(text) {
		line++
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		name, at, ok := cutNumber(l)
		switch {
		case ok && len(list) > 0:
			return nil, lang.Errorf("line %d %q has a number although lines before it have none, want one in all lines or in none", line, lang.Clip(l))
		case ok:
			nodes = append(nodes, timedNode{name, at})
		case len(nodes) > 0:
			return nil, lang.Errorf("line %d %q has no number although lines before it have one, want a name and a number", line, lang.Clip(l))
		case title == "":
			title = l
		default:
			list = append(list, timedNode{name: l})
		}
	}
	if len(nodes) == 0 && title != "" {
		return append([]timedNode{{name: title}}, list...), nil
	}
	return nodes, nil
}

// cutNumber splits a line at the separators before its number.
func cutNumber(line string) (name string, at Moment, ok bool) {
	const separators = ",\t :"
	i := strings.LastIndexAny(line, separators)
	if i < 0 {
		return "", Moment{}, false
	}
	name = strings.TrimRight(line[:i], separators)
	if line[i+1:] != "" {
		at, ok = ParseInstant(line[i+1:])
	}
	return name, at, ok && name != ""
}

// pickledNodes parses a pickled dict of numbers or list of names.
func pickledNodes(data []byte) ([]timedNode, error) {
	v, _, err := pickle.Read(bytes.NewReader(data), maxSize)
	if err != nil {
		return nil, err
	}
	var nodes []timedNode
	switch v := v.(type) {
	case *pickle.Dict:
		for _, item := range v.Items {
			name, ok := item.Key.(string)
			at, ok2 := ParseInstant(fmt.Sprint(item.Value))
			if !ok || !ok2 {
				return nil, lang.Errorf("the pickle has %v with %v, want a name with a number", item.Key, item.Value)
			}
			nodes = append(nodes, timedNode{name, at})
		}
	case *pickle.Sequence:
		for _, item := range v.Items {
			name, ok := item.(string)
			if !ok {
				return nil, lang.Errorf("the pickle has %v, want a name", item)
			}
			nodes = append(nodes, timedNode{name: name})
		}
	default:
		return nil, lang.Errorf("the pickle is neither a dict nor a list")
	}
	return nodes, nil
}

// executionTitle begins the first line of some execution orders.
const executionTitle = "NodeExecutionOrder"

// ReadExecutionOrder reads MindSpore's ms_execution_order_graph_N.csv: the operators in execution
// order, one a line, with the full name in the first column. file is the name for Source; errors do
// not have it.
func ReadExecutionOrder(r io.Reader, file string) (*Order, error) {
	const what = "execution order"
	data, err := readAll(r)
	if err != nil {
		return nil, lang.Errorf("%s: %w", what, err)
	}
	rows := csv.NewReader(bytes.NewReader(data))
	rows.FieldsPerRecord = -1
	rows.LazyQuotes = true
	rows.ReuseRecord = true
	var names []string
	var misfits misfit.List
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			order := NewOrder(what+" "+file, names)
			order.Misfits = misfits
			return order, nil
		}
		if err != nil {
			return nil, lang.Errorf("%s: %w", what, err)
		}
		name := strings.TrimSpace(row[0])
		if strings.Contains(name, "\n") {
			line, _ := rows.FieldPos(0)
			return nil, lang.Errorf("%s: line %d has a quote that is not closed, want one operator a line", what, line)
		}
		switch {
		case len(names) == 0 && strings.HasPrefix(name, executionTitle), strings.Join(row, "") == "":
			continue
		case !strings.Contains(name, "/") && !strings.Contains(name, "-op"):
			line, _ := rows.FieldPos(0)
			misfits.Add(line, -1, []byte(strings.Join(row, ",")), "the full name of an operator, such as Default/net/Conv2D-op515")
		}
		if name != "" {
			names = append(names, name)
		}
	}
}

// Iterations are the iterations in which a graph of MindSpore was executed.
type Iterations struct {
	// Numbers are the iterations in execution order, with repetitions.
	Numbers []uint64
	// Misfits are the lines without a number.
	Misfits misfit.List
}

// GlobalOrder is the prefix of files for ReadIterations, before the number of a root graph and
// .csv.
const GlobalOrder = "ms_global_execution_order_graph_"

// ReadIterations reads MindSpore's ms_global_execution_order_graph_N.csv: one number of an
// iteration a line, appended after each run of root graph N.
func ReadIterations(r io.Reader) (*Iterations, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, lang.Errorf("global execution order: %w", err)
	}
	all := new(Iterations)
	line, offset := 0, 0
	for text := range strings.Lines(string(data)) {
		line++
		cell := strings.Trim(text, " \t\r\n,\"")
		n, err := strconv.ParseUint(cell, 10, 64)
		switch {
		case err == nil:
			all.Numbers = append(all.Numbers, n)
		case cell != "":
			all.Misfits.Add(line, int64(offset), []byte(text), "the number of an iteration")
		}
		offset += len(text)
	}
	return all, nil
}
