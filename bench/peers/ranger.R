# Fits ranger's extremely randomised trees and prints what they cost and how good they are, as one JSON object.
#
#   Rscript ranger.R ARRAYS_DIR THREADS SEED
#
# Set up like scikit-learn's ExtraTrees: 100 trees, every tree sees all rows, leaves down to one row.

suppressPackageStartupMessages(library(ranger))

n_bins <- 15
least_probability <- 1e-15
n_single_rows <- 1000 # as many as `hedgerow predict --latency` asks for

# A NumPy file, format 1: 8 bytes of magic and version, the length of the header in 2, the header, the values.
read_npy <- function(path) {
  file <- file(path, "rb")
  on.exit(close(file))
  readBin(file, "raw", 8)
  header <- readChar(file, readBin(file, "integer", 1, size = 2, signed = FALSE, endian = "little"), useBytes = TRUE)
  shape <- sub(".*'shape': \\(([^)]*)\\).*", "\\1", header)
  shape <- as.integer(strsplit(gsub(" ", "", shape), ",")[[1]])
  kind <- if (grepl("f4", header, fixed = TRUE)) "double" else "integer"
  values <- readBin(file, kind, prod(shape), size = 4, endian = "little")
  if (length(shape) == 2) matrix(values, shape[1], shape[2], byrow = TRUE) else values
}

# Names that ranger wants for its columns.
named <- function(x) {
  colnames(x) <- paste0("x", seq_len(ncol(x)))
  x
}

seconds <- function(expression) unname(system.time(expression, gcFirst = FALSE)["elapsed"])

peak_memory_bytes <- function() {
  if (!file.exists("/proc/self/status")) return(NA)
  line <- grep("^VmHWM:", readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) * 1024
}

args <- commandArgs(trailingOnly = TRUE)
threads <- as.integer(args[2])
seed <- as.integer(args[3])
array <- function(name) read_npy(file.path(args[1], paste0(name, ".npy")))

read_seconds <- seconds({
  train_x <- named(array("train_x"))
  train_y <- array("train_y")
  test_x <- named(array("test_x"))
  test_y <- array("test_y")
})
n_classes <- max(train_y, test_y) + 1

fit_seconds <- seconds(forest <- ranger(
  x = train_x, y = factor(train_y), num.trees = 100, splitrule = "extratrees", probability = TRUE,
  replace = FALSE, sample.fraction = 1, min.node.size = 1, oob.error = FALSE,
  num.threads = threads, seed = seed + 1, verbose = FALSE # seed 0 means a random one to ranger
))
predict_seconds <- seconds(
  predicted <- predict(forest, data = test_x, num.threads = threads, verbose = FALSE)$predictions
)
peak <- peak_memory_bytes()

single <- vapply(seq_len(min(n_single_rows, nrow(test_x))), function(i) {
  start <- Sys.time()
  predict(forest, data = test_x[i, , drop = FALSE], num.threads = 1, verbose = FALSE)
  as.numeric(Sys.time() - start, units = "secs")
}, numeric(1))

# The definitions of hedgerow_core::metrics.
proba <- matrix(0, nrow(test_x), n_classes)
proba[, as.integer(colnames(predicted)) + 1] <- predicted
class <- max.col(proba, ties.method = "first")
rows <- seq_len(nrow(proba))
right <- class == test_y + 1
top <- proba[cbind(rows, class)]
bins <- pmin(floor(top * n_bins), n_bins - 1)
ece <- sum(abs(tapply(top - right, bins, sum))) / nrow(proba)
log_loss <- -mean(log(pmax(proba[cbind(rows, test_y + 1)], least_probability)))

number <- function(x) if (is.na(x)) "null" else format(x, digits = 10, scientific = FALSE)
cat(sprintf(
  paste0(
    '{"model": "ranger %s", "rows": %d, "features": %d, "seconds": {"read": %s, "fit": %s, "predict": %s}, ',
    '"one_row_seconds": {"median": %s, "p99": %s}, "peak_memory_bytes": %s, "bytes": %s, "nodes": %s, ',
    '"metrics": {"accuracy": %s, "log_loss": %s, "ece": %s}}\n'
  ),
  packageVersion("ranger"), nrow(train_x), ncol(train_x),
  number(read_seconds), number(fit_seconds), number(predict_seconds),
  number(median(single)), number(quantile(single, 0.99, names = FALSE)), number(peak),
  number(length(serialize(forest, NULL))), number(sum(lengths(forest$forest$split.varIDs))),
  number(mean(right)), number(log_loss), number(ece)
))
