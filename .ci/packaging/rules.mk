# rules.mk - make completions, install, uninstall, dist and static; a part of the Makefile, whose names it uses.

completions: all
	@.ci/packaging/completions $(BUILD)/bin $(BUILD)/completions $(PROGRAMS) $(FRONT)

# Where each shell looks: DIR/PROGRAM, with the shell's own prefix and suffix.
COMPLETIONS := bash-completion/completions/ zsh/site-functions/_ fish/vendor_completions.d/
complete_as  = $(foreach p,$(PROGRAMS) $(FRONT),$(addprefix $(DESTDIR)$(PREFIX)/share/,$(join $(COMPLETIONS),$(p) $(p) $(p).fish)))

# The scripts run from libexec; people find them under doc, by a link.
install: completions
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/kvtrace $(DESTDIR)$(PREFIX)/share/doc/kvtrace
	install -m 755 $(BINS) $(wildcard $(MPI_BINS)) $(DESTDIR)$(PREFIX)/bin
	$(if $(filter 1,$(WITH_SETCAP)),setcap cap_dac_override=ep $(DESTDIR)$(PREFIX)/bin/$(HELPER))
	cp -R examples/. $(DESTDIR)$(PREFIX)/libexec/kvtrace
	rm $(DESTDIR)$(PREFIX)/libexec/kvtrace/quickstart.sh # it builds from the sources
	ln -sf ../libexec/kvtrace/$(FRONT) $(DESTDIR)$(PREFIX)/bin/$(FRONT)
	for p in $(MANPAGES); do d=$(DESTDIR)$(PREFIX)/share/man/man$${p##*.}; install -d $$d && \
	    install -m 644 man/$$p $$d || exit 1; done
	for f in $(complete_as); do case $$f in */bash-*) s=bash;; */zsh/*) s=zsh;; *) s=fish;; esac; \
	    install -D -m 644 $(BUILD)/completions/$$s/$${f##*/} $$f || exit 1; done
	install -m 644 README.md CHANGELOG.md LICENSE $(DESTDIR)$(PREFIX)/share/doc/kvtrace
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/kvtrace/examples
	ln -s ../../../libexec/kvtrace $(DESTDIR)$(PREFIX)/share/doc/kvtrace/examples
uninstall:
	cd $(DESTDIR)$(PREFIX)/bin && rm -f $(PROGRAMS) $(HELPER) $(notdir $(MPI_BINS)) $(FRONT)
	rm -rf $(DESTDIR)$(PREFIX)/libexec/kvtrace
	for p in $(MANPAGES); do rm -f $(DESTDIR)$(PREFIX)/share/man/man$${p##*.}/$$p; done
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/kvtrace
	rm -f $(complete_as)

dist:
	@mkdir -p build
	git archive --format=tar.gz --prefix=kvtrace-$(VERSION)/ -o build/kvtrace-$(VERSION).tar.gz HEAD
	@echo build/kvtrace-$(VERSION).tar.gz

# The same objects with the third-party libraries linked in: only glibc is dynamic.
$(STATIC): LDLIBS := $(patsubst %,-l:lib%.a,zstd json-c uring yaml xxhash csv $(if $(filter yes,$(RESP)),hiredis) $(if $(filter yes,$(ZLIB)),z)) $(CUDART) -ldl -lrt -lm
# What may have a right of root loads nothing but the C library.
$(BUILD)/bin/$(HELPER) $(BUILD)/static/bin/$(HELPER): LDLIBS :=
STATIC_NAME := kvtrace-$(VERSION)-$(ARCH)
STATIC_DIR  := $(BUILD)/static/$(STATIC_NAME)
static: completions $(STATIC)
	rm -rf $(STATIC_DIR) && mkdir -p $(STATIC_DIR)/man
	cp -R $(BUILD)/static/bin $(STATIC_DIR) && strip $(STATIC_DIR)/bin/*
	ln -s ../examples/$(FRONT) $(STATIC_DIR)/bin/$(FRONT)
	cp $(addprefix man/,$(MANPAGES)) $(STATIC_DIR)/man
	cp -R $(BUILD)/completions examples README.md LICENSE $(STATIC_DIR)
	rm $(STATIC_DIR)/examples/quickstart.sh # it builds from the sources
	tar -C $(BUILD)/static --owner=0 --group=0 --numeric-owner -czf $(STATIC_DIR).tar.gz $(STATIC_NAME)
	@echo $(STATIC_DIR).tar.gz
