# Fits kernlab's Relevance Vector Machine to numbers, and prints what it cost and how good it is, as one JSON object.
#
#   Rscript kernlab_rvm.R TRAIN.csv TEST.csv WIDTH
#
# The files have the columns x and y. The kernel is exp(-(a - b)^2 / WIDTH^2), on x as it is. kernlab searches for no width.

suppressPackageStartupMessages(library(kernlab))

args <- commandArgs(trailingOnly = TRUE)
train <- read.csv(args[1])
test <- read.csv(args[2])
sigma <- 1 / as.numeric(args[3])^2

seconds <- system.time(
  model <- rvm(as.matrix(train$x), train$y, type = "regression", kernel = "rbfdot", kpar = list(sigma = sigma)),
  gcFirst = FALSE
)["elapsed"]
rmse <- sqrt(mean((predict(model, as.matrix(test$x)) - test$y)^2))
cat(sprintf('{"seconds": {"fit": %.6f}, "metrics": {"rmse": %.8f}, "active_rows": %d}\n', seconds, rmse, model@nRV))
