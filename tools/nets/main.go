// Command nets measures the verdict of compare on simulated networks: how often it accuses a healthy network, and how
// often it names the operator with a fault.
//
//	go run ./nets -seeds 5000-5019 -families all -dumptool ../bin/dumptool
//
// A seed draws a network of a family. The reference computes every operator in float64 and stores float32; the NPU
// computes in its own types, from its own outputs. The same seed gives a healthy network, one with a strong fault and one
// with a mild fault. Each is written to a folder: cpu, npu, cmd (the command line) and truth.json.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"
)

// modes are the states of a network.
var modes = []string{"clean", "strong", "mild"}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "nets:", err)
		}
		os.Exit(2)
	}
}

// truth describes a network in truth.json.
type truth struct {
	Seed   uint64 `json:"seed"`
	Family string `json:"family"`
	Mode   string `json:"mode"`
	Type   string `json:"type"`
	Form   form   `json:"form"`
	Nodes  int    `json:"nodes"`
	// Fault is the kind of the fault, Op the operator with the fault, Kind its type.
	Fault  string `json:"fault,omitempty"`
	Op     string `json:"op,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Output int    `json:"output,omitempty"`
	// Notes counts differences from the reference that are no faults.
	Notes map[string]int `json:"notes,omitempty"`
}

// outcome is the verdict of compare on a network.
type outcome struct {
	truth
	folder   string
	exit     int
	headline string
	origins  []string // operators; names of inputs are in brackets
}

func (o *outcome) isNamed() bool { return slices.Contains(o.origins, o.Op) }
func (o *outcome) isFirst() bool { return len(o.origins) > 0 && o.origins[0] == o.Op }
func (o *outcome) isWrong() bool {
	return slices.ContainsFunc(o.origins, func(s string) bool { return s != o.Op })
}

// isRight reports whether the verdict is right.
func (o *outcome) isRight() bool {
	if o.Mode == "clean" {
		return o.exit == 0
	}
	return o.exit == 1 && o.isFirst() && !o.isWrong()
}

func run(args []string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("nets", flag.ContinueOnError)
	seeds := flags.String("seeds", "1-6", "seeds `FIRST-LAST`")
	names := flags.String("families", "all", "`FAMILIES` with commas between them, or all")
	wanted := flags.String("modes", strings.Join(modes, ","), "`MODES` of clean, strong and mild")
	binary := flags.String("dumptool", "../bin/dumptool", "the program `FILE`")
	keep := flags.String("keep", "", "keep the networks in folder `DIR`")
	list := flags.Bool("list", false, "list what went wrong")
	depth := flags.Bool("depth", false, "print what is seen in deep networks instead, 24 to 1000 layers of each seed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	from, to, _ := strings.Cut(*seeds, "-")
	first, err := strconv.ParseUint(from, 10, 64)
	last := first
	if err == nil && to != "" {
		last, err = strconv.ParseUint(to, 10, 64)
	}
	if err != nil {
		return fmt.Errorf("-seeds %s: %w", *seeds, err)
	}
	program, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	dir := *keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "nets"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if *depth {
		return printByDepth(stdout, program, dir, first, last)
	}
	chosen := slices.Sorted(maps.Keys(families))
	if *names != "all" {
		chosen = strings.Split(*names, ",")
	}
	var all []*outcome
	for seed := first; seed <= last; seed++ {
		for _, family := range chosen {
			for mode := range strings.SplitSeq(*wanted, ",") {
				all = append(all, &outcome{truth: truth{Seed: seed, Family: family, Mode: mode}})
			}
		}
	}
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(2)
	for _, o := range all {
		g.Go(func() error {
			o.folder = filepath.Join(dir, fmt.Sprintf("%s_%d_%s", o.Family, o.Seed, o.Mode))
			err := o.judge(ctx, program)
			if *keep == "" {
				err = errors.Join(err, os.RemoveAll(o.folder))
			}
			if err != nil {
				return fmt.Errorf("%s %d %s: %w", o.Family, o.Seed, o.Mode, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(o *outcome) bool { return o.Mode != "clean" && o.Fault == "" })
	if *list {
		for _, o := range all {
			if !o.isRight() {
				fmt.Fprintln(stdout, o.line())
			}
		}
	}
	return table(stdout, all)
}

// line describes a wrong verdict.
func (o *outcome) line() string {
	s := fmt.Sprintf("%s %d %s (%s, %s", o.Family, o.Seed, o.Mode, o.Type, o.Form.Files)
	if o.Form.Graph != "none" {
		s += "+" + o.Form.Graph
	}
	if o.Form.Inputs {
		s += "+inputs"
	}
	s += ")"
	for _, note := range slices.Sorted(maps.Keys(o.Notes)) {
		s += fmt.Sprintf(" %s:%d", note, o.Notes[note])
	}
	if o.Mode != "clean" {
		s += fmt.Sprintf("\n    truth: %s in %s (%s)", o.Fault, o.Op, o.Kind)
	}
	return s + "\n    " + o.headline + "\n    origins: " + strings.Join(o.origins, " ")
}

// judge draws a network, writes it, and compares its two runs. A network without a visible fault is left out.
func (o *outcome) judge(ctx context.Context, program string) error {
	n, f, err := draw(o.Family, o.Seed, o.Mode)
	if err != nil || f == nil && o.Mode != "clean" {
		return err
	}
	return o.write(ctx, program, n, f, n.form())
}

// write writes a network in a form, and compares its two runs.
func (o *outcome) write(ctx context.Context, program string, n *net, f *fault, form form) error {
	if err := os.MkdirAll(o.folder, 0o777); err != nil {
		return err
	}
	w, args, err := n.write(o.folder, form)
	if err != nil {
		return err
	}
	o.Type, o.Form, o.Nodes, o.Notes = n.typ.String(), form, len(n.nodes), n.notes
	if f != nil {
		o.Fault, o.Op, o.Kind, o.Output = f.kind, w.names[f.node], f.node.kind, f.output
	}
	args = append([]string{"compare", "--cpu", "cpu", "--npu", "npu"}, args...)
	text, err := json.MarshalIndent(o.truth, "", " ")
	if err != nil {
		return err
	}
	cmd := "cd \"$(dirname \"$0\")\" && dumptool " + strings.Join(args, " ") + "\n"
	if err := errors.Join(os.WriteFile(filepath.Join(o.folder, "truth.json"), text, 0o666),
		os.WriteFile(filepath.Join(o.folder, "cmd"), []byte(cmd), 0o777)); err != nil {
		return err
	}
	return o.compare(ctx, program, args)
}

// draw draws a network and computes both sides; f is nil if no fault is visible.
func draw(family string, seed uint64, mode string) (n *net, f *fault, err error) {
	n, err = newNet(family, seed)
	switch {
	case err != nil || mode == "clean":
	case mode == "strong" || mode == "mild":
		f = n.choose(mode == "strong")
	default:
		err = fmt.Errorf("no mode %q, there are: %s", mode, strings.Join(modes, " "))
	}
	return n, f, err
}

// compare runs the program and reads its JSON document.
func (o *outcome) compare(ctx context.Context, program string, args []string) error {
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(ctx, program, append(args, "--json", "-j", "1", "--pictures", "0")...)
	c.Dir, c.Stdout, c.Stderr = o.folder, &stdout, &stderr
	err := c.Run()
	o.exit = c.ProcessState.ExitCode()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err
	}
	var doc struct {
		Summary struct {
			Headline string `json:"headline"`
			Origins  []struct {
				Row string `json:"row"`
			} `json:"origins"`
		} `json:"summary"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil {
		return fmt.Errorf("exit %d, %w: %s", o.exit, err, stderr.String())
	}
	o.headline = fmt.Sprintf("exit %d, %s", o.exit, doc.Summary.Headline)
	for _, origin := range doc.Summary.Origins {
		row, isInput := origin.Row, strings.Contains(origin.Row, ":input:")
		if i := strings.LastIndex(row, ":output:"); i > 0 {
			row = row[:i]
		} else if isInput {
			row = "[" + row + "]"
		}
		if !slices.Contains(o.origins, row) {
			o.origins = append(o.origins, row)
		}
	}
	return nil
}

// counts has the numbers in a line of the table.
type counts struct{ clean, failed, noted, nets, named, first, wrong int }

func (c *counts) add(o *outcome) {
	if o.Mode == "clean" {
		c.clean++
		c.failed += b2i(o.exit != 0)
		c.noted += b2i(o.exit != 0 && len(o.Notes) > 0)
		return
	}
	c.nets++
	c.named += b2i(o.isNamed())
	c.first += b2i(o.isFirst())
	c.wrong += b2i(o.isWrong())
}

func (c *counts) faults() string {
	return fmt.Sprintf("%d\t%d\t%d\t%d\t", c.nets, c.named, c.first, c.wrong)
}

// table prints how many networks were judged right, by family, files, type and fault.
func table(stdout io.Writer, all []*outcome) error {
	count := func(keep func(*outcome) bool) *counts {
		c := &counts{}
		for _, o := range all {
			if keep(o) {
				c.add(o)
			}
		}
		return c
	}
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	group := func(title string, of func(*outcome) string) {
		fmt.Fprintf(t, "%s\tclean\tfailed\tnoted\tstrong\tnamed\tfirst\twrong\tmild\tnamed\tfirst\twrong\t\n", title)
		values := map[string]bool{}
		for _, o := range all {
			values[of(o)] = true
		}
		for _, v := range append(slices.Sorted(maps.Keys(values)), "all") {
			mode := func(mode string) *counts {
				return count(func(o *outcome) bool { return o.Mode == mode && (v == "all" || of(o) == v) })
			}
			c := mode("clean")
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s%s\n", v, c.clean, c.failed, c.noted, mode("strong").faults(), mode("mild").faults())
		}
		fmt.Fprintln(t)
	}
	group("family", func(o *outcome) string { return o.Family })
	group("files", func(o *outcome) string { return o.Form.Files + " " + o.Form.Graph })
	group("type", func(o *outcome) string { return o.Type })
	group("fault", func(o *outcome) string { return o.Fault })
	return t.Flush()
}

// depths are numbers of layers. forms are the files of such deep networks: without a graph, with the dumped tensors
// besides outputs.
var (
	depths = []int{24, 200, 400, 1000}
	forms  = []struct {
		name string
		form
	}{
		{"outputs", form{Files: "cann", Graph: "none"}},
		{"and inputs of the NPU", form{Files: "cann", Graph: "none", Inputs: true}},
		{"and all inputs", form{Files: "cann-both", Graph: "none", Inputs: true}},
		{"outputs, consumer map", form{Files: "cann", Graph: "map"}},
	}
)

// printByDepth prints the verdicts on networks with many layers: healthy ones, and with a quarter of one tensor, at 7
// tenths of the layers, multiplied by 1.25.
func printByDepth(stdout io.Writer, program, dir string, first, last uint64) error {
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "layers\tdumped\tclean\tfailed\tfaults\tseen\tnamed\tfirst\twrong\t\n")
	for _, layers := range depths {
		for _, form := range forms {
			var c counts
			seen := 0
			for seed := first; seed <= last; seed++ {
				for _, mode := range modes[:2] {
					o := &outcome{truth: truth{Seed: seed, Family: "deep", Mode: mode}}
					n := start(o.Family, seed)
					residual(n, layers)
					n.finish()
					var f *fault
					if mode == "strong" {
						later := n.nodes[len(n.nodes)*7/10:]
						f = &fault{kind: "quarter", node: later[slices.IndexFunc(later, func(nd *node) bool { return !nd.constant })]}
						n.run(f)
					}
					o.folder = filepath.Join(dir, fmt.Sprintf("%d_%s_%d_%s", layers, form.name, seed, mode))
					if err := o.write(context.Background(), program, n, f, form.form); err != nil {
						return err
					}
					c.add(o)
					if mode == "strong" && o.exit == 1 {
						seen++
					}
				}
			}
			fmt.Fprintf(t, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", layers, form.name, c.clean, c.failed, c.nets, seen, c.named, c.first, c.wrong)
		}
	}
	return t.Flush()
}
