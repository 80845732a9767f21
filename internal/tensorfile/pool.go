package tensorfile

import (
	"sync"

	"dumptool/internal/lang"
)

// Pool opens single tensors of files with named tensors. It keeps files open while one of their
// tensors is in use, and caches the maxIdle files used last, so that a file is parsed once, not
// once per tensor. The zero value is ready; several goroutines may use it. Close closes the cached
// files.
type Pool struct {
	mu    sync.Mutex
	files map[string]*poolFile
	idle  []*poolFile // files without users, least recently used first
}

// maxIdle is the number of files without users that a Pool keeps open.
const maxIdle = 8

// poolFile is an open file of a pool.
type poolFile struct {
	path  string
	once  sync.Once
	file  *File
	err   error
	names map[string]int // index of a tensor by its name
	users int
}

// Open opens a tensor of the file at path by its name. The returned File has only this tensor.
// Without a name, Open of the Pool is the function Open.
func (p *Pool) Open(path, name string, opt Options) (*File, error) {
	if name == "" {
		return Open(path, opt)
	}
	shared := p.acquire(path)
	shared.once.Do(func() { shared.open(opt) })
	if shared.err != nil {
		defer p.release(shared)
		return nil, shared.err
	}
	i, ok := shared.names[name]
	if !ok {
		defer p.release(shared)
		return nil, lang.Errorf("the file has no tensor %q any more", name)
	}
	f := &File{Path: path, Container: shared.file.Container, Named: true, Tensors: []Tensor{shared.file.Tensors[i]}}
	f.release = func() { p.release(shared) }
	return f, nil
}

// open reads the list of tensors. The first of several tensors with one name counts.
func (s *poolFile) open(opt Options) {
	if s.file, s.err = Open(s.path, opt); s.err != nil {
		return
	}
	s.names = make(map[string]int, len(s.file.Tensors))
	for i := len(s.file.Tensors) - 1; i >= 0; i-- {
		s.names[s.file.Tensors[i].Name] = i
	}
}

// acquire adds a user to the file at path and returns it; release removes the user.
func (p *Pool) acquire(path string) *poolFile {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.files[path]
	if s == nil {
		s = &poolFile{path: path}
		if p.files == nil {
			p.files = make(map[string]*poolFile)
		}
		p.files[path] = s
	}
	if s.users++; s.users == 1 {
		p.removeIdle(s)
	}
	return s
}

// removeIdle removes a file from the files without users.
func (p *Pool) removeIdle(s *poolFile) {
	for i := range p.idle {
		if p.idle[i] == s {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return
		}
	}
}

func (p *Pool) release(s *poolFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	p.idle = append(p.idle, s)
	if len(p.idle) > maxIdle {
		p.closeOldest()
	}
}

// closeOldest closes the least recently used file without users.
func (p *Pool) closeOldest() {
	s := p.idle[0]
	p.idle = p.idle[1:]
	delete(p.files, s.path)
	if s.file != nil {
		_ = s.file.Close() // only read
	}
}

// Close closes the files without users.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		p.closeOldest()
	}
}
