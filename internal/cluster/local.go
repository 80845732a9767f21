package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Local runs a job on this machine, as processes of the same program.
type Local struct {
	// Program is the file of the program, Name the name it is called by.
	Program, Name string
	In            io.Reader
	Out, Err      io.Writer
	// JSON: Err receives JSON records, one per line.
	JSON bool
}

// permanentFailures lists the exit statuses after which no further shard is started, since it would end alike: wrong
// usage, and nothing to do.
var permanentFailures = []int{2, 4}

// Run runs the shards and the merge. It returns the exit status of the merge, or the first hopeless
// status of a shard. Output of shards goes to Err, each line with the number of its shard. When ctx
// ends, the processes are interrupted and waited for. The error is an error of ctx, or of starting
// a process.
func (l *Local) Run(ctx context.Context, j *Job) (status int, err error) {
	if status, err = l.shards(ctx, j); status != 0 || err != nil {
		return status, err
	}
	return l.run(ctx, j.Merge, l.Out, l.Err)
}

// shards runs the shards. status is the first exit status in hopeless, else 0; other failures show in the shards'
// documents.
func (l *Local) shards(ctx context.Context, j *Job) (status int, err error) {
	cpus := runtime.GOMAXPROCS(0)
	parallel := j.Parallel
	if parallel < 1 {
		parallel = cpus
	}
	parallel = min(parallel, j.N)
	var wg sync.WaitGroup
	var mu sync.Mutex // guards status, err and l.Err
	next := 0
	for range parallel {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := i >= j.N || status != 0 || err != nil
				mu.Unlock()
				if stop {
					return
				}
				args := j.ShardArgs(i)
				if !j.OwnWorkers {
					args = insertFlags(args, "-j", strconv.Itoa(max(1, cpus/parallel)))
				}
				out := &shardWriter{destination: l.Err, mu: &mu, shard: i, json: l.JSON}
				code, failed := l.run(ctx, args, out, out)
				out.flush()
				mu.Lock()
				if err = errors.Join(err, failed); slices.Contains(permanentFailures, code) {
					status = code
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return status, ctx.Err()
	}
	return status, err
}

// run runs the program and returns its exit status.
func (l *Local) run(ctx context.Context, args []string, out, err io.Writer) (status int, failed error) {
	cmd := exec.CommandContext(ctx, l.Program, args...)
	cmd.Args[0] = l.Name
	cmd.Stdin, cmd.Stdout, cmd.Stderr = l.In, out, err
	// Interrupt the process only once, from here, and let it end by itself.
	cmd.SysProcAttr = ownProcessGroup()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	failed = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case errors.As(failed, &exit):
		return exit.ExitCode(), nil
	}
	return 0, failed
}

// shardWriter writes whole lines with the number of a shard: as a prefix, or in JSON records.
type shardWriter struct {
	destination io.Writer
	mu          *sync.Mutex
	shard       int
	json        bool
	rest        []byte
}

// Write implements io.Writer.
func (l *shardWriter) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	err := l.write(l.rest[:end])
	l.rest = append(l.rest[:0], l.rest[end:]...)
	return len(p), err
}

// flush writes the last line, which may lack a newline.
func (l *shardWriter) flush() {
	if len(l.rest) > 0 {
		_ = l.write(append(l.rest, '\n')) // there is nowhere else to report it
	}
}

func (l *shardWriter) write(text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(text) {
		if err := l.writeLine(line); err != nil {
			return err
		}
	}
	return nil
}

// writeLine writes a line. In a JSON record the shard becomes the first field; other lines, such as
// tables, become records.
func (l *shardWriter) writeLine(line []byte) (err error) {
	text := bytes.TrimRight(line, "\r\n")
	switch {
	case l.json && len(text) == 0: // an empty line
	case !l.json:
		_, err = fmt.Fprintf(l.destination, "shard %d: %s", l.shard, line)
	case bytes.HasPrefix(text, []byte(`{"`)) && json.Valid(text):
		_, err = fmt.Fprintf(l.destination, "{\"shard\":%d,%s\n", l.shard, text[1:])
	default:
		slog.New(slog.NewJSONHandler(l.destination, nil)).Info(string(text), "shard", l.shard)
	}
	return err
}
