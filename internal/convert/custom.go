package convert

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// formatPair is a conversion from one format to another.
type formatPair struct{ from, to tensor.Format }

func (p formatPair) String() string { return fmt.Sprintf("convert_%s_to_%s", p.from, p.to) }

// Custom runs the user's own converters: Python modules DIR/format_convert/convert_SRC_to_DST.py
// with a function
//
//	convert(shape_from: list, shape_to: list, array: 1-D ndarray) -> ndarray
//
// and a fourth argument group if the module name contains to_FRACTAL_Z (the contract of msaccucmp).
// They run one at a time in one Python process, which starts on first use; tensors pass as .npy
// files. The user's Python must have numpy.
type Custom struct {
	modules  map[formatPair]string
	warnings []lang.Sentence

	mu    sync.Mutex
	child *child
	err   error // error of starting the child
}

// NewCustom looks for converters below dir. A missing dir is an error; everything else is a
// warning.
func NewCustom(dir string) (*Custom, error) {
	if store.IsRemote(dir) {
		return nil, lang.Errorf("%s is in object storage: Python runs scripts from a local folder only", dir)
	}
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, lang.Errorf("%s is not a folder", dir)
	}
	c := &Custom{modules: map[formatPair]string{}}
	folder := filepath.Join(dir, "format_convert")
	entries, err := os.ReadDir(folder)
	if err != nil {
		c.warnings = append(c.warnings, lang.Say("no converters of your own: %v", err))
		return c, nil
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		path := filepath.Join(folder, e.Name())
		p, ok := parseModule(e.Name())
		if !ok {
			c.warnings = append(c.warnings, lang.Say("%s is not used: a converter is called convert_SRC_to_DST.py", path))
			continue
		}
		// A source file takes precedence over its compiled form.
		if old, twice := c.modules[p]; !twice || strings.HasSuffix(old, ".pyc") {
			c.modules[p] = path
		}
	}
	return c, nil
}

// parseModule parses the formats in the name of a module. Format names may contain _to_, so every
// split is tried.
func parseModule(name string) (formatPair, bool) {
	stem, isPython := strings.CutSuffix(strings.TrimSuffix(name, "c"), ".py")
	stem, ok := strings.CutPrefix(stem, "convert_")
	for at := range len(stem) {
		if !isPython || !ok || !strings.HasPrefix(stem[at:], "_to_") {
			continue
		}
		from, ok1 := tensor.ParseFormat(stem[:at])
		to, ok2 := tensor.ParseFormat(stem[at+len("_to_"):])
		if ok1 && ok2 {
			return formatPair{from, to}, true
		}
	}
	return formatPair{}, false
}

// Warnings returns the warnings about the converters' folder.
func (c *Custom) Warnings() []lang.Sentence { return c.warnings }

// Has reports whether the user has a converter from one format to another. A nil Custom has none.
func (c *Custom) Has(from, to tensor.Format) bool {
	if c == nil || from == to {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.modules[formatPair{from, to}]
	return ok
}

// unusableError is the error of a module that is not a converter; the built-in converter is used
// instead.
type unusableError struct {
	module, why string
}

func (e *unusableError) Error() string { return e.module + ": " + e.why }

// Close ends the Python process.
func (c *Custom) Close() {
	if c == nil || c.child == nil {
		return
	}
	c.child.killOnInterrupt()
	c.child = nil
}

// call is one conversion in the Python process.
type call struct {
	pair      formatPair
	Module    string       `json:"module"`
	In        string       `json:"in"`
	Out       string       `json:"out"`
	ShapeFrom tensor.Shape `json:"shape_from"`
	ShapeTo   tensor.Shape `json:"shape_to"`
	Group     int64        `json:"group"`
}

// convert runs one conversion.
func (c *Custom) convert(ctx context.Context, job call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.child == nil && c.err == nil {
		c.child, c.err = startChild(ctx)
	}
	if c.err != nil {
		return c.err
	}
	var ok bool
	if job.Module, ok = c.modules[job.pair]; !ok {
		return &unusableError{job.pair.String(), "not usable"}
	}
	if job.ShapeTo == nil {
		job.ShapeTo = tensor.Shape{}
	}
	err := c.child.runCall(ctx, job)
	if errors.Is(err, errChildGone) {
		c.child = nil // the next conversion starts a new one
	}
	if _, ok := errors.AsType[*unusableError](err); ok {
		delete(c.modules, job.pair)
		return err
	}
	if err != nil {
		return lang.Errorf("%s: %w", job.Module, err)
	}
	return nil
}

//go:embed custom_host.py
var hostScript string

// child is a running Python process that answers one line per call.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *tail
}

var errChildGone = lang.Errorf("python ended unexpectedly")

// startChild starts the first python3 in PATH that has numpy.
func startChild(ctx context.Context) (*child, error) {
	python, err := findPython(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(python, "-u", "-c", hostScript)
	c := &child{cmd: cmd, stderr: &tail{}}
	cmd.Stderr = c.stderr
	cmd.WaitDelay = time.Second // children of the process may keep stderr open
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return c, nil
}

// findPython searches PATH for a python3 that can import numpy; PATH may have several.
func findPython(ctx context.Context) (string, error) {
	var tried []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path, err := exec.LookPath(filepath.Join(dir, "python3"))
		if err != nil || dir == "" {
			continue
		}
		if exec.CommandContext(ctx, path, "-c", "import numpy").Run() == nil {
			return path, nil
		}
		tried = append(tried, path)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if len(tried) == 0 {
		return "", lang.Errorf("converters of your own (-c) need python3, which is not in PATH")
	}
	return "", lang.Errorf("converters of your own (-c) need numpy, which %s cannot import", strings.Join(tried, ", "))
}

// callReply is the answer of the process to a call.
type callReply struct {
	Error string `json:"error"`
	// Unusable is the reason why the module is not a converter.
	Unusable string `json:"unusable"`
}

func (c *child) runCall(ctx context.Context, job call) error {
	line, err := json.Marshal(job)
	if err != nil {
		return err
	}
	// Kill a converter that does not return when the run is interrupted.
	stop := context.AfterFunc(ctx, func() { _ = c.cmd.Process.Kill() })
	defer stop()
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return c.deathError(ctx)
	}
	reply, err := c.out.ReadBytes('\n')
	if err != nil {
		return c.deathError(ctx)
	}
	var a callReply
	if err := json.Unmarshal(reply, &a); err != nil {
		return c.deathError(ctx)
	}
	if a.Unusable != "" {
		return &unusableError{job.Module, a.Unusable}
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}

// deathError returns the error of a process that does not answer any more. Its last output is complete
// only after waiting for the process.
func (c *child) deathError(ctx context.Context) error {
	c.killOnInterrupt()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if last := c.stderr.lastLine(); last != "" {
		return lang.Errorf("%w: %s", errChildGone, last)
	}
	return errChildGone
}

func (c *child) killOnInterrupt() {
	_ = c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// tail keeps the end of the process's stderr.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - maxTail; over > 0 {
		t.text = t.text[over:]
	}
	return len(p), nil
}

// lastLine returns the last line that is not empty.
func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimSpace(t.text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}
